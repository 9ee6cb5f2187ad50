#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategies/cad/state.h"

namespace cadenza {

struct SearchOptions {
  int64_t work = 0;  // evaluations of moves after which it stops: the same on every machine
  uint64_t seed = 1;
};

/// `Effort::kThorough`: simulated annealing over plans, for seconds. Needs a state without a server
/// above its cap, and leaves it in some such state; returns the tasks of the best plan that it met,
/// which is never worse than the one it began with. Deterministic. Method: cad/search.cc.
std::vector<Task> search(CadState& state, const SearchOptions& options);

}  // namespace cadenza
