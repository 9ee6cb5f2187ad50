#include "planner/place_head_tail.h"

#include "base/check.h"

namespace cadenza {
namespace {

/// Appends the next `tokens` of the document; neighbours of one rank are one shard.
void append(std::vector<Shard>& shards, Rank rank, int64_t tokens) {
  if (tokens == 0) return;
  const int64_t begin = shards.empty() ? 0 : shards.back().rows.end;
  if (!shards.empty() && shards.back().home == rank) {
    shards.back().rows.end += tokens;
  } else {
    shards.push_back({{begin, begin + tokens}, rank});
  }
}

}  // namespace

std::vector<Shard> place_head_tail(int64_t length, std::span<const RankShare> shares) {
  std::vector<Shard> shards;
  std::vector<int64_t> tails;
  int64_t odd = 0;  // odd shares in turn have the longer tail and the longer head
  for (const RankShare& share : shares) {
    const int64_t head = (share.tokens + (share.tokens % 2 == 1 ? odd++ % 2 : 0)) / 2;
    append(shards, share.rank, head);
    tails.push_back(share.tokens - head);
  }
  for (size_t i = shares.size(); i-- > 0;) append(shards, shares[i].rank, tails[i]);
  CADENZA_CHECK(!shards.empty() && shards.back().rows.end == length, length, " tokens to place");
  return shards;
}

}  // namespace cadenza
