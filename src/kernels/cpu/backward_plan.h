#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/range.h"
#include "kernels/attention.h"
#include "kernels/cpu/head_segment.h"

namespace cadenza::cpu {

/// The part of a task that lies in one cell; rows counted from the task's q_begin and kv_begin.
struct BackwardPiece {
  size_t segment = 0;
  int32_t task = 0;
  Range q, kv;
};

/// A pair of rows adds into dQ of its query and into dK, dV of its key, so tiles of queries and of
/// keys both collide. The rows of the query buffer and of the key buffer are cut into chunks of one
/// size; chunk a of queries × chunk b of keys × kv head is a cell. In step s run the cells with (b
/// − a) mod n = s: no two of a step share a chunk of queries or of keys of one kv head, so they run
/// side by side without extra memory or atomics, and every row gets its sums in the order of steps,
/// whatever the number of threads. n ≥ both numbers of chunks. Under a causal mask each step has
/// about as many cells as another, unlike in an order by |b − a|.
struct BackwardPlan {
  std::vector<HeadSegment> segments;
  std::vector<BackwardPiece> pieces;
  std::vector<Range> cells;  // of pieces, by segment and task: what one worker does at a time
  std::vector<Range> steps;  // of cells; only steps that have some
};

BackwardPlan plan_backward(const BackwardArgs& args);

}  // namespace cadenza::cpu
