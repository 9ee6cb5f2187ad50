#include "planner/even_shares.h"

namespace cadenza {

std::vector<RankShare> even_shares(int64_t tokens, int ranks, int64_t first_extra) {
  std::vector<RankShare> shares;
  shares.reserve(static_cast<size_t>(ranks));
  const int64_t first = first_extra % ranks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const int64_t place = (rank - first + ranks) % ranks;  // in the order of dealing
    shares.push_back({rank, tokens / ranks + (place < tokens % ranks ? 1 : 0)});
  }
  return shares;
}

}  // namespace cadenza
