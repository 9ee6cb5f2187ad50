#include "kernels/cpu/head_segment.h"

#include <algorithm>

namespace cadenza::cpu {
namespace {

std::vector<int64_t> head_cuts(const AttentionShape& shape, std::span<const AttentionTask> tasks) {
  const int64_t group = shape.heads / shape.kv_heads;
  std::vector<char> is_cut(static_cast<size_t>(shape.heads) + 1, 0);
  for (int64_t head = 0; head <= shape.heads; head += group) is_cut[static_cast<size_t>(head)] = 1;
  for (const AttentionTask& task : tasks) {
    is_cut[static_cast<size_t>(task.head_begin)] = 1;
    is_cut[static_cast<size_t>(task.head_end)] = 1;
  }
  std::vector<int64_t> cuts;
  for (int64_t head = 0; head <= shape.heads; ++head) {
    if (is_cut[static_cast<size_t>(head)]) cuts.push_back(head);
  }
  return cuts;
}

}  // namespace

std::vector<HeadSegment> head_segments(const AttentionShape& shape,
                                       std::span<const AttentionTask> tasks) {
  const std::vector<int64_t> cuts = head_cuts(shape, tasks);
  std::vector<HeadSegment> segments;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    HeadSegment segment{{cuts[i], cuts[i + 1]}, cuts[i] / (shape.heads / shape.kv_heads), {}};
    for (size_t t = 0; t < tasks.size(); ++t) {
      const bool covers = Range{tasks[t].head_begin, tasks[t].head_end}.contains(segment.heads);
      if (covers && tasks[t].q_rows > 0) segment.tasks.push_back(static_cast<int32_t>(t));
    }
    if (!segment.tasks.empty()) segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace cadenza::cpu
