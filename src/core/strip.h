#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/piece.h"

namespace cadenza {

/// A part of a piece over whose queries both ends of the keys are linear: at query q the keys are
/// [left_at(q), right_at(q)), never empty, and each end stays or moves by one a row.
struct Strip {
  Range q;
  int64_t left = 0;        // first key at q.begin
  int64_t right = 0;       // end of the keys at q.begin
  int64_t left_slope = 0;  // 0 or 1
  int64_t right_slope = 0;
  size_t piece = 0;  // index of the piece that it is a part of

  int64_t left_at(int64_t row) const { return left + left_slope * (row - q.begin); }
  int64_t right_at(int64_t row) const { return right + right_slope * (row - q.begin); }
};

/// Cuts a piece at the two rows where an end changes from a side of the rectangle to a side of the
/// band: at most three strips, in order of q, together the pairs of the piece.
void append_strips(const Piece& piece, size_t index, std::vector<Strip>& strips);

}  // namespace cadenza
