#pragma once

#include <cstdint>
#include <vector>

#include "core/range.h"
#include "kernels/attention.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// The keys of one task, counted from task.kv_begin, that each lane of a tile sees.
struct LaneKeys {
  std::vector<int64_t> begin, end;  // per lane; equal where the lane sees none
  Range any;                        // keys that some lane sees lie in here
  Range all;                        // keys that every lane sees; may be reversed

  explicit LaneKeys(int64_t tile_lanes)
      : begin(static_cast<size_t>(tile_lanes)), end(static_cast<size_t>(tile_lanes)) {}

  /// Lane l is token first_token + (first_head + l) / heads, counted from task.q_begin. Only keys
  /// of `limit` count.
  void set(const AttentionTask& task, int64_t first_token, int64_t first_head, int64_t heads,
           int64_t lanes, Range limit);
  /// Lanes that fill the last panel see what the last lane sees.
  void pad(int64_t lanes, int64_t panel_lanes);
  /// Lane l sees nothing.
  void clear(int64_t lane);

  LaneRanges lanes() const { return {begin.data(), end.data()}; }
};

}  // namespace cadenza::cpu
