#pragma once

#include <functional>

#include "core/batch.h"

namespace cadenza {

/// The batch as groups of ranks see it: the home of a token is the group of its rank, neighbouring
/// shards of one group are one shard. Groups are numbered from 0 to groups - 1.
Batch group_homes(const Batch& batch, int groups, const std::function<int(Rank)>& group_of);

}  // namespace cadenza
