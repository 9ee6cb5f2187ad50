#pragma once

#include "core/batch.h"
#include "planner/strategy.h"

namespace cadenza {

/// ConfigError where the request makes no sense (no server, more homes than servers, a speed that
/// is not positive, a negative tolerance).
void check_request(const PlanRequest& request);

/// The request's documents with homes: as given, or by sequential fill. Checks the request.
Batch batch_of_request(const PlanRequest& request);

}  // namespace cadenza
