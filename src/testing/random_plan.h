#pragma once

#include "base/rng.h"
#include "core/plan.h"

namespace cadenza {

/// An exact plan of no use: every mask piece cut into four tasks by queries and keys, each of them
/// into two by heads, dealt to servers at random.
Plan random_plan(Rng& rng, const Batch& batch, int servers, int64_t heads);

/// The same tasks in up to four rounds, with relays for some of them, legal ones.
Plan with_random_rounds(Rng& rng, Plan plan);

}  // namespace cadenza
