#include "train/rank_tokens.h"

#include "base/check.h"

namespace cadenza {

RankTokens rank_tokens(const Batch& batch, const std::vector<std::vector<int32_t>>& documents,
                       Rank rank) {
  RankTokens tokens;
  for (const LocalShard& shard : local_shards(batch, rank)) {
    const std::vector<int32_t>& ids = documents[static_cast<size_t>(shard.document)];
    const auto length = static_cast<int64_t>(ids.size());
    CADENZA_CHECK(shard.rows.end <= length, "document ", shard.document);
    for (int64_t position = shard.rows.begin; position < shard.rows.end; ++position) {
      const bool last = position + 1 == length;
      tokens.ids.push_back(ids[static_cast<size_t>(position)]);
      tokens.positions.push_back(position);
      tokens.targets.push_back(last ? RankTokens::kNoTarget
                                    : ids[static_cast<size_t>(position) + 1]);
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
