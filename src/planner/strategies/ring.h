#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Ring attention with zigzag placement: queries stay, keys and values go round. In round t rank r
/// computes with the keys of rank r - t, which it gets from its neighbour r - 1 that held them in
/// round t - 1; rows that no later rank's masks need stop there, and ranks that need none of a row
/// are skipped. Blind to documents: a batch of short ones is balanced no better than its tokens
/// are. `servers` beyond `homes` have nothing to do.
Plan plan_ring(const PlanRequest& request);

}  // namespace cadenza
