#pragma once

#include "planner/strategies/cad/moves.h"

namespace cadenza {

/// Gives surplus away, the largest first, until no server is above its cap or nothing fits. True
/// where no server is above its cap.
bool bring_under_caps(CadState& state, MoveFinder& finder);

/// Where the tile of cuts is too coarse for the cap (small batches): the most loaded server gives
/// what best levels it with the least loaded one, as long as that lowers the larger of the two.
void level_loads(CadState& state, MoveFinder& finder);

}  // namespace cadenza
