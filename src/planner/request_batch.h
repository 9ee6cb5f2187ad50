#pragma once

#include "core/batch.h"
#include "planner/strategy.h"

namespace cadenza {

/// The request's documents with homes: as given, or by sequential fill. ConfigError where the
/// request makes no sense (no server, more homes than servers, a speed that is not positive, a
/// negative tolerance).
Batch batch_of_request(const PlanRequest& request);

}  // namespace cadenza
