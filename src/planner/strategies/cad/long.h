#pragma once

#include "base/rng.h"
#include "planner/strategies/cad/state.h"

namespace cadenza {

/// Plans each causal document that lives on several servers as a whole, before single moves: what
/// its own servers keep, and how the rest is tiled over servers with room. Leaves a state in which
/// servers may still be above their caps. Noise above 0: other layouts, by luck. Returns its work
/// in evaluations of moves.
int64_t spread_long_documents(CadState& state, double noise, Rng& rng);

/// For a search: lays out one document, all of whose work is at home, with luck in the number of
/// columns and in who gets which block. False where it is not such a document or has no surplus.
bool spread_again(CadState& state, int document, double noise, Rng& rng);

}  // namespace cadenza
