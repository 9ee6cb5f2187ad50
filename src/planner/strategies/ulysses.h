#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// DeepSpeed-Ulysses: every server computes all rows of all documents for a range of heads; one
/// all-to-all turns rows into heads, one turns them back. Perfectly balanced where heads divide by
/// servers, whatever the documents. Heads need not divide (planner/split_heads.h); servers past the
/// number of query heads have nothing to do, and past that of kv heads K and V of a head go to
/// several. Takes homes as they are.
Plan plan_ulysses(const PlanRequest& request);

}  // namespace cadenza
