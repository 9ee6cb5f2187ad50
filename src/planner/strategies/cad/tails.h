#pragma once

#include "planner/strategies/cad/state.h"

namespace cadenza {

/// The few rows of a document that lie on another server than most of it fetch all its keys. Gives
/// such rows to the servers that hold the keys, each for its own keys, where that moves less, also
/// counting what the change of surplus and room will cost.
void give_tails(CadState& state);

}  // namespace cadenza
