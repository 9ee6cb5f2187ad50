#include "planner/key_homes.h"

#include <algorithm>

namespace cadenza {

std::vector<KeyedTask> cut_at_key_homes(const Batch& batch, const std::vector<Task>& tasks) {
  std::vector<KeyedTask> parts;
  for (const Task& task : tasks) {
    const Range kv = task.piece.kv;
    const std::vector<Shard>& shards = batch.documents[static_cast<size_t>(task.document)].shards;
    auto shard = std::partition_point(shards.begin(), shards.end(), [&](const Shard& candidate) {
      return candidate.rows.end <= kv.begin;
    });
    while (shard != shards.end() && shard->rows.begin < kv.end) {
      const Rank home = shard->home;
      Range rows = shard->rows;
      for (; shard != shards.end() && shard->home == home; ++shard) rows.end = shard->rows.end;
      Task part = task;
      part.piece = trim({task.piece.q, intersect(kv, rows), task.piece.band});
      if (!part.piece.q.empty()) parts.push_back({part, home});
    }
  }
  return parts;
}

}  // namespace cadenza
