#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// How many tokens of a document a rank gets.
struct RankShare {
  Rank rank = 0;
  int64_t tokens = 0;  // >= 0

  bool operator==(const RankShare&) const = default;
};

/// Gives each rank one piece near the document's head and its mirror image near the tail: heads in
/// the order of `shares`, then tails in the opposite order (zigzag). Under a causal mask a query at
/// x and its mirror image have length + 1 keys between them, so a rank's pairs are its tokens ×
/// (length + 1) / 2 whatever its share is; one row more or less where a share is odd. Requires
/// shares that sum to `length`. Any length: pieces without a token are left out.
std::vector<Shard> place_head_tail(int64_t length, std::span<const RankShare> shares);

}  // namespace cadenza
