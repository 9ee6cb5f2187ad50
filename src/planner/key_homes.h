#pragma once

#include <vector>

#include "core/batch.h"
#include "core/plan.h"

namespace cadenza {

/// A task whose keys all live on one rank.
struct KeyedTask {
  Task task;
  Rank key_home = 0;
};

/// Cuts tasks where the home of their keys changes, and trims the parts; a part without a pair is
/// left out. Time linear in what comes out, times a search among the shards of a document.
std::vector<KeyedTask> cut_at_key_homes(const Batch& batch, const std::vector<Task>& tasks);

}  // namespace cadenza
