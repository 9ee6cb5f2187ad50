#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/piece.h"

/// Questions about sets of disjoint pieces that verify_plan asks.
namespace cadenza {

/// Disjoint pieces (a mask), ready to be compared with many others.
class PieceIndex {
 public:
  /// `pieces` are ordered by q.begin.
  explicit PieceIndex(std::vector<Piece> pieces);

  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Pairs of `piece` that lie in some of the pieces. O(log n + pieces that share a query with it).
  int64_t pairs_inside(const Piece& piece) const;

 private:
  int64_t pairs_inside(const Piece& piece, size_t begin, size_t end) const;

  std::vector<Piece> pieces_;
  // A binary tree over the pieces, kept in place: the middle of each half-open range of indices
  // holds the largest q.end of that range, so that ranges which end before a query are skipped
  // whole.
  std::vector<int64_t> largest_end_;
};

/// Keys of query q in any of the pieces, ascending and disjoint, neighbours not joined. Requires
/// disjoint pieces.
std::vector<Range> keys_at(const std::vector<Piece>& pieces, int64_t q);

/// First keys that lie in `all` and not in `some`; both ascending and disjoint.
std::optional<Range> first_missing(const std::vector<Range>& all, const std::vector<Range>& some);

/// First query of which the two sets hold different numbers of keys. O(n log n): the number at a
/// query is linear between the ends of strips, so only those and the rows after them are looked at.
std::optional<int64_t> first_difference(const std::vector<Piece>& a, const std::vector<Piece>& b);

}  // namespace cadenza
