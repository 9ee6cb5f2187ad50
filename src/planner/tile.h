#pragma once

#include <cstdint>

namespace cadenza {

/// Task cuts fall on multiples of this, in document coordinates: the tile of the attention kernels.
inline constexpr int64_t kTile = 128;

}  // namespace cadenza
