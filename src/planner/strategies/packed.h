#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Whole documents to ranks, best fit decreasing by tokens; nothing is exchanged. What data
/// parallelism with packing does. NeedsCapacity where the packing finds no room. It fills ranks by
/// tokens, not by work: not for batches in which a document is much longer than the mean.
Plan plan_packed(const PlanRequest& request);

}  // namespace cadenza
