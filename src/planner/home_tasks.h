#pragma once

#include <vector>

#include "core/batch.h"
#include "core/plan.h"

namespace cadenza {

/// One task per (shard, mask piece that its queries meet), computed at the shard's home: the plan
/// that moves no query. Queries outside a document's `queries` get none. Key ranges are trimmed to
/// what the queries see. Ordered by document, shard, piece.
std::vector<Task> home_tasks(const Batch& batch);

}  // namespace cadenza
