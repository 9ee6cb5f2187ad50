#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cadenza {

/// One receiver of a share.
struct ShareBound {
  double weight = 1;  // > 0 where there is room
  int64_t room = 0;   // the largest share it can take
};

/// Whole shares of `total`, in proportion to the weights as far as rooms allow: who would get more
/// than its room gets its room, and the others share the rest. They sum to `total`. Requires rooms
/// that sum to at least `total`. O(n log n).
std::vector<int64_t> apportion(int64_t total, std::span<const ShareBound> bounds);

}  // namespace cadenza
