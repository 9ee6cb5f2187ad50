#pragma once

#include "core/batch.h"
#include "planner/strategy.h"

/// What strategies share that choose all homes themselves.
namespace cadenza {

/// The request's documents without homes. Checks the request and the documents' lengths and queries
/// (DataError); NotApplicable where it gives homes.
Batch unplaced_batch(const PlanRequest& request, const char* strategy);

/// Tokens that a rank may hold.
int64_t capacity_of(const PlanRequest& request);

/// NeedsCapacity where a rank would have to hold `tokens` and may not.
void check_capacity(int64_t tokens, const PlanRequest& request, const char* strategy);

/// The same for the fullest rank of a batch whose ranks all hold the same number of tokens, one
/// more or less.
void check_even_capacity(const Batch& batch, const PlanRequest& request, const char* strategy);

}  // namespace cadenza
