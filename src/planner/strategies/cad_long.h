#pragma once

#include "planner/strategies/cad_state.h"

namespace cadenza {

/// Plans each causal document that lives on several servers as a whole, before single moves: what
/// its own servers keep, and how the rest is tiled over servers with room. Leaves a state in which
/// servers may still be above their caps.
void spread_long_documents(CadState& state);

}  // namespace cadenza
