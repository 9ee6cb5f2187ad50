#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Batch-aware sequence parallelism: the ranks are cut into disjoint groups of neighbours, each
/// computes its own documents by Ulysses, so that no all-to-all leaves a group. Groups need not be
/// equal: at the smallest capacity at which it works, a document that does not fit on a rank gets a
/// group of as many ranks as hold it, shorter ones are packed to single ranks, and ranks left over
/// go where a rank has most tokens. With one document it is `ulysses`, with documents that all fit
/// on a rank `packed`. NeedsCapacity where tokens find no room. Levels tokens, not work: a group
/// with a longer document has more of it.
Plan plan_basp(const PlanRequest& request);

}  // namespace cadenza
