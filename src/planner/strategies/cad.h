#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Core attention disaggregation: starts from the home tasks and moves work from loaded to free
/// servers until none is above (1 + tolerance) × mean, or as near as the tile of cuts allows. Loads
/// are request.cost / speed. Few, large moves, each chosen by the bytes it adds. Deterministic.
/// Method: cad.cc.
Plan plan_cad(const PlanRequest& request);

}  // namespace cadenza
