#include "planner/place_zigzag.h"

#include "planner/even_shares.h"

namespace cadenza {

void place_zigzag(Batch& batch) {
  int64_t tokens = 0;
  for (const Document& document : batch.documents) tokens += document.length;
  if (tokens == 0) return;
  const std::vector<Shard> chunks = place_head_tail(tokens, even_shares(tokens, batch.homes));
  auto chunk = chunks.begin();
  int64_t first = 0;  // where the document begins in the sequence
  for (Document& document : batch.documents) {
    const Range rows{first, first + document.length};
    document.shards.clear();
    while (chunk->rows.end <= rows.begin) ++chunk;
    for (auto c = chunk; c != chunks.end() && c->rows.begin < rows.end; ++c) {
      const Range part = intersect(c->rows, rows);
      document.shards.push_back({{part.begin - first, part.end - first}, c->home});
    }
    first = rows.end;
  }
}

}  // namespace cadenza
