#include "planner/group_homes.h"

namespace cadenza {

Batch group_homes(const Batch& batch, int groups, const std::function<int(Rank)>& group_of) {
  Batch grouped{.homes = groups, .documents = batch.documents};
  for (Document& document : grouped.documents) {
    std::vector<Shard> shards;
    for (const Shard& shard : document.shards) {
      const int group = group_of(shard.home);
      if (!shards.empty() && shards.back().home == group) {
        shards.back().rows.end = shard.rows.end;
      } else {
        shards.push_back({shard.rows, group});
      }
    }
    document.shards = std::move(shards);
  }
  return grouped;
}

}  // namespace cadenza
