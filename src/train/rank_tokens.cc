#include "train/rank_tokens.h"

#include <algorithm>

#include "base/check.h"

namespace cadenza {

RankTokens read_rank_tokens(const TokenSource& source, const std::vector<DocumentHandle>& handles,
                            const Batch& batch, Rank rank) {
  RankTokens tokens;
  std::vector<int32_t> ids;
  for (const LocalShard& shard : local_shards(batch, rank)) {
    const DocumentHandle& handle = handles.at(static_cast<size_t>(shard.document));
    CADENZA_CHECK(shard.rows.end <= handle.tokens.size(), "document ", shard.document);
    const int64_t first = handle.tokens.begin;  // of the source's document
    // One more than the rows, if the document goes on: the last row's target.
    const Range read{first + shard.rows.begin,
                     std::min(first + shard.rows.end + 1, handle.tokens.end)};
    ids.clear();
    source.read_rows(handle.document, read, ids);
    CADENZA_CHECK(static_cast<int64_t>(ids.size()) == read.size(), "document ", shard.document);
    for (int64_t position = shard.rows.begin; position < shard.rows.end; ++position) {
      const auto row = static_cast<size_t>(position - shard.rows.begin);
      const bool has_target =
          row + 1 < ids.size() && source.is_target(handle.document, first + position + 1);
      tokens.ids.push_back(ids[row]);
      tokens.positions.push_back(position);
      tokens.targets.push_back(has_target ? ids[row + 1] : RankTokens::kNoTarget);
    }
  }
  return tokens;
}

RowPlace place_of_row(const Batch& batch, Rank rank, int64_t row) {
  for (const LocalShard& shard : local_shards(batch, rank)) {
    const int64_t inside = row - shard.first_row;
    if (inside < shard.rows.size()) return {shard.document, shard.rows.begin + inside};
  }
  throw InternalError(cat("[train] rank ", rank, " has no row ", row));
}

}  // namespace cadenza
