#pragma once

#include <cstdint>
#include <limits>
#include <ostream>

#include "core/range.h"

namespace cadenza {

/// Bounds on k - q in document coordinates, both included. Causal is {kUnboundedBelow, 0}.
struct Band {
  static constexpr int64_t kUnboundedBelow = std::numeric_limits<int64_t>::min() / 4;
  static constexpr int64_t kUnboundedAbove = std::numeric_limits<int64_t>::max() / 4;

  int64_t lowest = kUnboundedBelow;
  int64_t highest = kUnboundedAbove;

  static Band causal() { return {kUnboundedBelow, 0}; }
  static Band full() { return {}; }
  bool operator==(const Band&) const = default;
};

std::ostream& operator<<(std::ostream& out, Band band);

/// The (q, k) pairs of a q range × a kv range whose difference lies in a band: the shape of every
/// mask piece and task.
struct Piece {
  Range q;
  Range kv;
  Band band;

  bool operator==(const Piece&) const = default;
};

/// Number of pairs, exact, in constant time. Documents up to 2^31 tokens cannot overflow it.
int64_t count_pairs(const Piece& piece);

/// The smallest q range that holds them all, where there is at least one pair.
Range queries_with_pairs(const Piece& piece);

/// Pairs that lie in both.
Piece intersect(const Piece& a, const Piece& b);

/// Keys that query `q` sees; empty where it sees none. Requires nothing of q.
Range keys_of_query(const Piece& piece, int64_t q);

/// The smallest q and kv ranges that hold the same pairs: no row at either end without an allowed
/// pair. A piece without pairs comes back with empty ranges. The pairs of a piece being convex,
/// every q row that remains has a pair, and every kv row too.
Piece trim(const Piece& piece);

}  // namespace cadenza
