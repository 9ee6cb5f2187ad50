#pragma once

#include <vector>

#include "core/plan.h"
#include "planner/strategies/cad/state.h"

namespace cadenza {

/// Tasks for given homes, the bytes that they move (Q + K + V + O of a forward; between nodes times
/// far_link_weight), and the longest time of a server over its cap.
struct CadTasks {
  std::vector<Task> tasks;
  double bytes = 0;
  double time_over_cap = 0;
  double longest_time = 0;   // of a server, in the cost model's unit
  double most_received = 0;  // Q + K + V bytes of a server in a forward
};

/// The tasks of `cad` for homes that are fixed, within request.options' limits. PlanError where
/// this planner finds no plan within them; it names the smallest limit with which it does: with
/// that limit planning succeeds, with one byte less it fails. That is a property of this planner,
/// found by bisection, and not proved of all plans.
CadTasks cad_tasks(const PlanRequest& request, const Batch& batch);

}  // namespace cadenza
