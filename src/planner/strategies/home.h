#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Every query is computed where it lives; keys of other shards of its document are fetched. This
/// is what training without disaggregation does, and the plan that `cad` starts from.
Plan plan_home(const PlanRequest& request);

}  // namespace cadenza
