#include "planner/home_tasks.h"

#include <algorithm>

namespace cadenza {
namespace {

/// Appends the tasks of one shard. Pieces are ordered by q.begin but their ends are not, so all
/// that begin before the shard's end are looked at, from the first whose q range can reach it on.
void append_shard_tasks(int document, const Shard& shard, Range queries,
                        const std::vector<Piece>& pieces, size_t first, std::vector<Task>& tasks) {
  const Range rows = intersect(shard.rows, queries);
  for (size_t i = first; i < pieces.size() && pieces[i].q.begin < rows.end; ++i) {
    const Range q = intersect(rows, pieces[i].q);
    const Piece piece = trim({q, pieces[i].kv, pieces[i].band});
    if (!piece.q.empty()) {
      tasks.push_back({.document = document, .piece = piece, .heads = {}, .server = shard.home});
    }
  }
}

}  // namespace

std::vector<Task> home_tasks(const Batch& batch) {
  std::vector<Task> tasks;
  tasks.reserve(batch.documents.size() + static_cast<size_t>(batch.homes));
  for (size_t d = 0; d < batch.documents.size(); ++d) {
    const Document& document = batch.documents[d];
    const std::vector<Piece> pieces = mask_pieces(document.mask, document.length);
    size_t first = 0;  // pieces before it end before the shard begins
    for (const Shard& shard : document.shards) {
      while (first < pieces.size() && pieces[first].q.end <= shard.rows.begin) ++first;
      append_shard_tasks(static_cast<int>(d), shard, document.queries, pieces, first, tasks);
    }
  }
  return tasks;
}

}  // namespace cadenza
