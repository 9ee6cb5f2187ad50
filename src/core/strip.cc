#include "core/strip.h"

#include <algorithm>
#include <array>

namespace cadenza {

void append_strips(const Piece& piece, size_t index, std::vector<Strip>& strips) {
  const Piece tight = trim(piece);
  if (tight.q.empty()) return;
  // The first key leaves kv.begin after row `leaves`, the last one stands still from row `arrives`
  // on. Open bands make them far outside of q, without overflow: a bound is at most 2^61 in size.
  const int64_t leaves = std::clamp(tight.kv.begin - tight.band.lowest, tight.q.begin, tight.q.end);
  const int64_t arrives =
      std::clamp(tight.kv.end - 1 - tight.band.highest, tight.q.begin, tight.q.end);
  const std::array<int64_t, 4> cuts = {tight.q.begin, std::min(leaves, arrives),
                                       std::max(leaves, arrives), tight.q.end};
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Range rows{cuts[i], cuts[i + 1]};
    if (rows.empty()) continue;
    const Range keys = keys_of_query(tight, rows.begin);
    strips.push_back({.q = rows,
                      .left = keys.begin,
                      .right = keys.end,
                      .left_slope = rows.begin >= leaves ? 1 : 0,
                      .right_slope = rows.begin < arrives ? 1 : 0,
                      .piece = index});
  }
}

}  // namespace cadenza
