#pragma once

#include <cstdint>

#include "planner/strategies/cad/moves.h"

namespace cadenza {

struct ImproveOptions {
  int64_t work = 0;             // evaluations of moves after which it stops
  bool until_feasible = false;  // no more than it takes to bring all servers under caps and limits
  double noise = 0.1;
  uint64_t seed = 1;
};

/// Search: clears a few documents, wholly or in part, brings all servers under their caps again by
/// noisy moves, and keeps the result where it leaves less above caps and limits, or as much and
/// moves fewer bytes.
void improve(CadState& state, const ImproveOptions& options);

}  // namespace cadenza
