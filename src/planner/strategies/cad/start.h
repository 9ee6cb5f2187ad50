#pragma once

#include <cstdint>

#include "planner/strategies/cad/state.h"

namespace cadenza {

struct Start {
  bool even = false;  // no server is above its cap
  int64_t work = 0;   // evaluations of moves
};

/// Brings all servers under their caps, from the home tasks, several times by other preferences
/// while the work lasts, and leaves the start that moves least. Once at least.
Start best_start(CadState& state, int64_t most_work);

}  // namespace cadenza
