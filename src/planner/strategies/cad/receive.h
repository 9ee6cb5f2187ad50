#pragma once

#include "planner/strategies/cad/state.h"

namespace cadenza {

/// Lowers the largest receive of a server that is far above that of one good rectangle: what
/// computes there for others is cleared and shared another way, as long as all servers stay under
/// their caps and bytes grow by no more than this part of them.
void lower_largest_receive(CadState& state, double more_bytes);

}  // namespace cadenza
