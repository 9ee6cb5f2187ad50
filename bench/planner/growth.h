#pragma once

#include <cstdint>

#include "planner/strategy.h"

namespace cadenza {

/// A request for so many servers of 128K tokens each, full to the last token with documents of
/// long-tailed lengths: logarithms are normal, the median about 3K tokens, cut at 128K, which is
/// near what packed corpora of the web look like. The same for the same seed.
PlanRequest growth_request(int servers, uint64_t seed);

}  // namespace cadenza
