#pragma once

#include "core/batch.h"
#include "planner/strategy.h"

namespace cadenza {

/// ConfigError if the request makes no sense (no server, more homes than servers, a negative speed
/// or none above 0, a negative tolerance).
void check_request(const PlanRequest& request);

/// NotApplicable if a server has speed 0: most strategies fix who computes what, whatever the
/// speeds.
void check_all_compute(const PlanRequest& request);

/// Servers of speed 0, which may hold tokens and compute nothing.
enum class IdleServers { kRefused, kAllowed };

/// The request's documents with homes: as given, or by sequential fill. Checks the request.
Batch batch_of_request(const PlanRequest& request, IdleServers idle = IdleServers::kRefused);

}  // namespace cadenza
