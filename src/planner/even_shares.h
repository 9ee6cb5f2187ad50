#pragma once

#include <cstdint>
#include <vector>

#include "planner/place_head_tail.h"

namespace cadenza {

/// `tokens` dealt to ranks 0 .. ranks - 1, tokens / ranks each; what does not divide goes one each
/// to the ranks from `first_extra` on, round the end. Whoever deals several documents and goes on
/// with `first_extra` where the last one stopped keeps all ranks within one token of each other.
std::vector<RankShare> even_shares(int64_t tokens, int ranks, int64_t first_extra = 0);

}  // namespace cadenza
