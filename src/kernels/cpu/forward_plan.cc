#include "kernels/cpu/forward_plan.h"

#include <algorithm>

#include "kernels/cpu/head_segment.h"

namespace cadenza::cpu {
namespace {

using Tasks = std::span<const AttentionTask>;

const AttentionTask& at(Tasks tasks, int32_t index) { return tasks[static_cast<size_t>(index)]; }

std::vector<int64_t> row_cuts(Tasks tasks, const HeadSegment& segment) {
  std::vector<int64_t> cuts;
  for (const int32_t t : segment.tasks) {
    cuts.push_back(at(tasks, t).q_begin);
    cuts.push_back(at(tasks, t).q_begin + at(tasks, t).q_rows);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

/// `active`: the tasks that run on the region's rows, in order. Those before the last that
/// overwrites do not matter.
void add_region(Tasks tasks, const std::vector<int32_t>& active, int64_t tile_lanes,
                ForwardRegion region, ForwardPlan& plan) {
  size_t first = active.size();
  while (first > 0 && at(tasks, active[first - 1]).merge) --first;
  region.merge = first == 0;
  if (first > 0) --first;
  region.tasks.begin = static_cast<int64_t>(plan.tasks.size());
  plan.tasks.insert(plan.tasks.end(), active.begin() + static_cast<std::ptrdiff_t>(first),
                    active.end());
  region.tasks.end = static_cast<int64_t>(plan.tasks.size());
  region.first_tile = plan.tiles;
  plan.tiles += (region.lanes() + tile_lanes - 1) / tile_lanes;
  plan.regions.push_back(region);
}

/// Sweeps over the rows with the sorted list of the tasks that cover the current ones.
void add_segment(Tasks tasks, const HeadSegment& segment, int64_t tile_lanes, ForwardPlan& plan) {
  std::vector<int32_t> by_begin = segment.tasks;
  std::stable_sort(by_begin.begin(), by_begin.end(), [&](int32_t a, int32_t b) {
    return at(tasks, a).q_begin < at(tasks, b).q_begin;
  });
  const std::vector<int64_t> cuts = row_cuts(tasks, segment);
  std::vector<int32_t> active;
  size_t next = 0;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::erase_if(active,
                  [&](int32_t t) { return at(tasks, t).q_begin + at(tasks, t).q_rows <= cuts[i]; });
    for (; next < by_begin.size() && at(tasks, by_begin[next]).q_begin <= cuts[i]; ++next) {
      active.insert(std::upper_bound(active.begin(), active.end(), by_begin[next]), by_begin[next]);
    }
    if (active.empty()) continue;
    ForwardRegion region{
        .rows = {cuts[i], cuts[i + 1]}, .heads = segment.heads, .kv_head = segment.kv_head};
    add_region(tasks, active, tile_lanes, region, plan);
  }
}

/// The regions [from, to) once more for other heads: segments of the same tasks differ in nothing
/// else, and in a batch of thousands of documents planning would be the serial part of the call.
void repeat_regions(size_t from, size_t to, const HeadSegment& segment, ForwardPlan& plan) {
  for (size_t i = from; i < to; ++i) {
    ForwardRegion region = plan.regions[i];
    region.heads = segment.heads;
    region.kv_head = segment.kv_head;
    region.first_tile = plan.tiles;
    plan.tiles += (region.lanes() + plan.tile_lanes - 1) / plan.tile_lanes;
    plan.regions.push_back(region);
  }
}

}  // namespace

const ForwardRegion& ForwardPlan::region_of(int64_t tile) const {
  const auto after = std::upper_bound(
      regions.begin(), regions.end(), tile,
      [](int64_t t, const ForwardRegion& region) { return t < region.first_tile; });
  return *(after - 1);
}

ForwardPlan plan_forward(const AttentionShape& shape, Tasks tasks, int64_t tile_lanes) {
  ForwardPlan plan{.regions = {}, .tasks = {}, .tile_lanes = tile_lanes};
  const std::vector<HeadSegment> segments = head_segments(shape, tasks);
  size_t from = 0, to = 0;  // the regions of the segment before
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && segments[i].tasks == segments[i - 1].tasks) {
      repeat_regions(from, to, segments[i], plan);
    } else {
      add_segment(tasks, segments[i], tile_lanes, plan);
    }
    from = i == 0 ? 0 : to;
    to = plan.regions.size();
  }
  return plan;
}

}  // namespace cadenza::cpu
