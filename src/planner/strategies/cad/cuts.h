#pragma once

#include <optional>

#include "planner/strategies/cad/state.h"

namespace cadenza {

/// How much shall move: at least `wanted` if a cut allows it, never more than `most`. Costs.
struct Amount {
  double wanted = 0;
  double most = 0;
};

/// A q range × kv range of an item with edges where a cut may be, its pairs trimmed, and their
/// cost.
struct Cut {
  Piece box;
  Piece part;
  double cost = 0;
};

/// The cuts of one box, an item or a part of one: its last `tiles` tiles of query rows × as many
/// early keys as make the amount. One number, so that the best of them is found by a line search.
/// Edges lie on tiles, or are edges of the box.
class BoxCuts {
 public:
  BoxCuts(const CadState& state, const Piece& box, Amount amount);

  const Piece& box() const { return box_; }
  int64_t all_tiles() const { return all_tiles_; }
  /// The cut with the least keys that reach amount.wanted, or, where that passes amount.most, one
  /// tile less; all keys where they are too few. None where nothing is left.
  std::optional<Cut> with_rows(int64_t tiles) const;
  /// All keys, and the least rows that reach amount.wanted.
  std::optional<Cut> with_all_keys() const;

 private:
  std::optional<Cut> counted_with_rows(int64_t tiles) const;
  template <typename BoxOf>
  std::optional<Cut> reaching(int64_t last, const BoxOf& box_of) const;
  Piece rows_of(int64_t tiles) const;

  const CadState& state_;
  Piece box_;
  Amount amount_;
  int64_t all_tiles_ = 0;
};

/// The part of an item inside the keys (or queries) that `receiver` has most of in one range, at
/// home or fetched, out to edges where a cut may be; without queries where it has none.
Piece held_box(const CadState& state, int item, Rank receiver, Range Piece::*side);

}  // namespace cadenza
