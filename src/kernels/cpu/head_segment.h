#pragma once

#include <span>
#include <vector>

#include "core/range.h"
#include "kernels/attention.h"

namespace cadenza::cpu {

/// Neighbouring query heads that read one kv head and that every task covers whole or not at all,
/// with the tasks that cover them, in order. Tasks without query rows are left out.
struct HeadSegment {
  Range heads;
  int64_t kv_head = 0;
  std::vector<int32_t> tasks;
};

/// The heads cut at kv heads' boundaries and at tasks' head ranges; segments that no task covers
/// are left out.
std::vector<HeadSegment> head_segments(const AttentionShape& shape,
                                       std::span<const AttentionTask> tasks);

}  // namespace cadenza::cpu
