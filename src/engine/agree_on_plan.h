#pragma once

#include <optional>

#include "comm/group.h"
#include "core/verify_plan.h"

namespace cadenza {

/// Rank 0's plan on every rank, verified by each. Rank 0 alone plans (floating point may differ
/// between kinds of processor) and gives `plan`; the others give nothing. All ranks then compare
/// hashes: PlanError naming the ranks that hold another plan, before anything is exchanged by it.
VerifiedPlan agree_on_plan(Group& group, const std::optional<Plan>& plan, Deadline deadline);

}  // namespace cadenza
