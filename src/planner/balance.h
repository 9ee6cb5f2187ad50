#pragma once

#include "core/cluster.h"
#include "core/cost_model.h"
#include "core/plan.h"

namespace cadenza {

/// How evenly a plan loads its servers. Load is cost / speed; the mean is total cost / total speed.
struct Balance {
  double max_over_mean = 1;  // 1 where there is no work
  double lower_bound_over_mean =
      1;  // max(mean, largest work that cannot be cut on the fastest server) / mean
};

Balance balance_of(const Plan& plan, const Cluster& cluster, const CostModel& cost);

}  // namespace cadenza
