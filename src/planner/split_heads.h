#pragma once

#include <vector>

#include "core/model_shape.h"
#include "core/plan.h"

namespace cadenza {

/// Consecutive servers.
struct ServerSpan {
  Rank first = 0;
  int count = 1;
};

/// The query heads of part `part` of `parts`, as even as heads allow, each in one part. Up to
/// kv_heads parts are cut between groups of query heads that share a kv head, so that K and V of a
/// head go to one part only; more parts share kv heads, and parts past the number of query heads
/// are empty. Heads need not divide.
Range head_range(const ModelShape& shape, int part, int parts);

/// Appends the task once for each server of the span, with that server's heads (all-to-all of
/// Ulysses: heads for rows). A server without a head gets none.
void split_heads(const Task& task, ServerSpan servers, const ModelShape& shape,
                 std::vector<Task>& tasks);

}  // namespace cadenza
