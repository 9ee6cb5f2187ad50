#include "core/piece.h"

namespace cadenza {
namespace {

// The same pairs with a band no wider than the rectangle's own differences (by at most one), so
// that arithmetic on open or absurd bands cannot overflow. Requires non-empty ranges.
Band clamp_to_ranges(const Piece& piece) {
  const int64_t least = piece.kv.begin - (piece.q.end - 1);
  const int64_t greatest = piece.kv.end - 1 - piece.q.begin;
  return {std::clamp(piece.band.lowest, least, greatest + 1),
          std::clamp(piece.band.highest, least - 1, greatest)};
}

// Sum over j < y of clamp(j, 0, m): nothing below zero, then a triangle, then m a step.
int64_t clamped_series(int64_t y, int64_t m) {
  if (y <= 0) return 0;
  if (y <= m) return y * (y - 1) / 2;
  return m * (m + 1) / 2 + (y - 1 - m) * m;
}

// Pairs of the rectangle with k - q <= bound: query q has clamp(q + bound + 1 - kv.begin, 0, keys)
// of them, an arithmetic series in q. At most 2^62 for 2^31 rows and keys.
int64_t pairs_up_to(Range q, Range kv, int64_t bound) {
  const int64_t first = q.begin + bound + 1 - kv.begin;
  return clamped_series(first + q.size(), kv.size()) - clamped_series(first, kv.size());
}

Piece without_pairs(const Piece& piece) {
  return {{piece.q.begin, piece.q.begin}, {piece.kv.begin, piece.kv.begin}, piece.band};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Band band) {
  out << '[';
  if (band.lowest <= Band::kUnboundedBelow)
    out << "open";
  else
    out << band.lowest;
  out << ", ";
  if (band.highest >= Band::kUnboundedAbove)
    out << "open";
  else
    out << band.highest;
  return out << ']';
}

int64_t count_pairs(const Piece& piece) {
  if (piece.q.empty() || piece.kv.empty() || piece.band.lowest > piece.band.highest) return 0;
  const Band band = clamp_to_ranges(piece);
  const int64_t up_to = pairs_up_to(piece.q, piece.kv, band.highest);
  // Most masks have no lowest bound, and planners count pairs millions of times.
  if (piece.band.lowest == Band::kUnboundedBelow) return up_to;
  return up_to - pairs_up_to(piece.q, piece.kv, band.lowest - 1);
}

Piece intersect(const Piece& a, const Piece& b) {
  return {intersect(a.q, b.q),
          intersect(a.kv, b.kv),
          {std::max(a.band.lowest, b.band.lowest), std::min(a.band.highest, b.band.highest)}};
}

Range keys_of_query(const Piece& piece, int64_t q) {
  const Range none{piece.kv.begin, piece.kv.begin};
  if (!piece.q.contains(q) || piece.kv.empty()) return none;
  const Band band = clamp_to_ranges(piece);
  const Range keys = intersect(piece.kv, Range{q + band.lowest, q + band.highest + 1});
  return keys.empty() ? none : keys;
}

// Query q sees a key unless all of kv lies above q + highest or below q + lowest; keys likewise.
Range queries_with_pairs(const Piece& piece) {
  const Band band = clamp_to_ranges(piece);
  return intersect(piece.q, Range{piece.kv.begin - band.highest, piece.kv.end - band.lowest});
}

Piece trim(const Piece& piece) {
  if (count_pairs(piece) == 0) return without_pairs(piece);
  const Band band = clamp_to_ranges(piece);
  const Range q = queries_with_pairs(piece);
  const Range kv = intersect(piece.kv, Range{q.begin + band.lowest, q.end + band.highest});
  return {q, kv, piece.band};
}

}  // namespace cadenza
