#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/range.h"
#include "kernels/attention.h"

namespace cadenza::cpu {

/// Query rows × heads of one kv head for which the same tasks run, cut into tiles of consecutive
/// lanes (lane = token × heads + head).
struct ForwardRegion {
  Range rows;
  Range heads;
  int64_t kv_head = 0;
  bool merge = false;      // into what the output holds
  Range tasks;             // in ForwardPlan::tasks, in the order in which they run
  int64_t first_tile = 0;  // number of tiles in the regions before

  int64_t lanes() const { return rows.size() * heads.size(); }
};

/// Who computes what. A tile runs all tasks of its rows as one online softmax, so merging tasks of
/// one call costs nothing, tiles never share output, and no result depends on the number of
/// threads.
struct ForwardPlan {
  std::vector<ForwardRegion> regions;
  std::vector<int32_t> tasks;
  int64_t tile_lanes = 0;
  int64_t tiles = 0;

  /// The region that holds the tile.
  const ForwardRegion& region_of(int64_t tile) const;
};

/// Rows are cut wherever a task begins or ends. What a later task without `merge` overwrites is not
/// computed.
ForwardPlan plan_forward(const AttentionShape& shape, std::span<const AttentionTask> tasks,
                         int64_t tile_lanes);

}  // namespace cadenza::cpu
