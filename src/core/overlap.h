#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/piece.h"

namespace cadenza {

/// A pair (q, k) that lies in two pieces, first < second.
struct Overlap {
  size_t first = 0;
  size_t second = 0;
  int64_t q = 0;
  int64_t k = 0;
};

/// Some pair that lies in two of the pieces, if there is one. O(n log n).
///
/// How: a sweep over q keeps the strips (strip.h) of the row in the order of their keys. Until two
/// strips meet that order cannot change, because an end moves by at most one a row and no strip is
/// empty. If two meet, two neighbours meet no later (Shamos and Hoey, 1976). So only strips that
/// become neighbours are compared, and over their common rows the gap between them is linear: its
/// two ends tell.
std::optional<Overlap> find_overlap(const std::vector<Piece>& pieces);

}  // namespace cadenza
