#include "planner/strategies/cad_cuts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/tile.h"

namespace cadenza {
namespace {

/// Rows of a rectangle as multiples of the number at which Q + O bytes equal K + V bytes. The cost
/// is flat around 1 (6 % more at 0.7 and 1.4), but a document may be too short for the best
/// proportion, and rows held change it.
constexpr std::array kProportions{0.35, 0.6, 0.8, 1.0, 1.25, 1.7, 2.6};

int64_t tiles_in(Range range) { return (range.end + kTile - 1) / kTile - range.begin / kTile; }

/// The last `tiles` tiles of a range; its own begin where there are no more.
Range last_tiles(Range range, int64_t tiles) {
  return {std::max(range.begin, ((range.end + kTile - 1) / kTile - tiles) * kTile), range.end};
}

/// The first `tiles` tiles of a range; its own end where there are no more.
Range first_tiles(Range range, int64_t tiles) {
  return {range.begin, std::min(range.end, (range.begin / kTile + tiles) * kTile)};
}

/// Smallest n in [1, last] with value(n) >= wanted; last where there is none. value does not fall.
/// Interpolates, because the cost of a rectangle is linear in its width, and halves every third
/// time, because that of a triangle is not.
template <typename Value>
int64_t first_reaching(int64_t last, double wanted, const Value& value) {
  int64_t low = 0, high = last;
  double at_low = 0, at_high = value(last);
  if (at_high < wanted) return last;
  for (int step = 1; high - low > 1; ++step) {
    const double fraction = step % 3 == 0 ? 0.5 : (wanted - at_low) / (at_high - at_low);
    const auto guess = static_cast<int64_t>(std::ceil(fraction * static_cast<double>(high - low)));
    const int64_t middle = low + std::clamp<int64_t>(guess, 1, high - low - 1);
    const double at_middle = value(middle);
    (at_middle < wanted ? low : high) = middle;
    (at_middle < wanted ? at_low : at_high) = at_middle;
  }
  return high;
}

/// Collects the cuts of one box: a part of an item from which late rows × early keys are taken.
class BoxCuts {
 public:
  BoxCuts(const CadState& state, const Piece& box, Amount amount, std::vector<Cut>& cuts)
      : state_(state), box_(box), amount_(amount), cuts_(cuts) {}

  /// Cuts in several proportions around `rows`, with all rows, and with all keys.
  void collect(double rows) {
    const int64_t all = tiles_in(box_.q);
    int64_t previous = 0;
    for (const double proportion : kProportions) {
      const double tiles = std::round(rows * proportion / kTile);
      const auto n = static_cast<int64_t>(std::clamp(tiles, 1.0, static_cast<double>(all)));
      if (n != previous) with_rows(n);
      previous = n;
    }
    if (all != previous) with_rows(all);
    with_all_keys();
  }

 private:
  /// The last `tiles` tiles of rows, with the keys that they see.
  Piece rows_of(int64_t tiles) const {
    const Range rows = last_tiles(box_.q, tiles);
    return {rows, trim({rows, box_.kv, box_.band}).kv, box_.band};
  }

  /// The last `tiles` tiles of rows, with as many early keys as make the amount.
  void with_rows(int64_t tiles) {
    const Piece rows = rows_of(tiles);
    if (rows.kv.empty()) return;
    keep(tiles_in(rows.kv), [&](int64_t keys) {
      return Piece{rows.q, first_tiles(rows.kv, keys), rows.band};
    });
  }

  /// All keys, with as many late rows as make the amount.
  void with_all_keys() {
    keep(tiles_in(box_.q), [&](int64_t tiles) { return rows_of(tiles); });
  }

  template <typename BoxOf>
  void keep(int64_t last, const BoxOf& box_of) {
    const auto cost_of = [&](int64_t n) {
      const Piece part = trim(box_of(n));
      return part.q.empty() ? 0.0 : state_.cost(part);
    };
    int64_t n = first_reaching(last, amount_.wanted, cost_of);
    double cost = cost_of(n);
    if (cost > amount_.most) cost = --n > 0 ? cost_of(n) : 0.0;
    if (cost > 0 && cost <= amount_.most) cuts_.push_back({box_of(n), trim(box_of(n)), cost});
  }

  const CadState& state_;
  const Piece box_;
  const Amount amount_;
  std::vector<Cut>& cuts_;
};

/// The part of `held` inside `range` whose ends are tiles, ends of the range, or ends of a shard.
Range snapped(Range held, Range range, const std::vector<Shard>& shards) {
  Range inside = intersect(held, range);
  const auto allowed = [&](int64_t edge) {
    return edge == range.begin || edge == range.end || edge % kTile == 0 ||
           std::any_of(shards.begin(), shards.end(),
                       [&](const Shard& s) { return s.rows.end == edge; });
  };
  if (!allowed(inside.begin)) inside.begin = (inside.begin / kTile + 1) * kTile;
  if (!allowed(inside.end)) inside.end = inside.end / kTile * kTile;
  return inside;
}

/// The rows of `box` that see any of its keys, outward to tiles but not past the box.
Piece covering_tiles(const Piece& box) {
  const Range q = trim(box).q;
  const Range tiles{q.begin / kTile * kTile, (q.end + kTile - 1) / kTile * kTile};
  return {q.empty() ? q : intersect(tiles, box.q), box.kv, box.band};
}

/// The largest range of a set inside `range`, snapped; empty where there is none.
Range largest_held(const RangeSet& held, Range range, const std::vector<Shard>& shards) {
  Range largest;
  for (const Range& r : held.ranges()) {
    const Range inside = snapped(r, range, shards);
    if (inside.size() > largest.size()) largest = inside;
  }
  return largest;
}

}  // namespace

std::vector<Cut> cuts_for(const CadState& state, int id, Rank receiver, Amount amount) {
  const WorkItem& item = state.item(id);
  const Piece& whole = item.piece;
  const double row_bytes = static_cast<double>(state.request().shape.q_row_bytes() +
                                               state.request().shape.o_row_bytes());
  const double rows = state.bytes_per_root_cost() * std::sqrt(amount.wanted) / (2 * row_bytes);
  std::vector<Cut> cuts;
  BoxCuts(state, whole, amount, cuts).collect(rows);
  if (const CadState::Rows* held = state.rows_held(receiver, item.document)) {
    const auto& shards = state.batch().documents[static_cast<size_t>(item.document)].shards;
    for (const Piece& box : {Piece{whole.q, largest_held(held->kv, whole.kv, shards), whole.band},
                             Piece{largest_held(held->q, whole.q, shards), whole.kv, whole.band}}) {
      const Piece inside = covering_tiles(box);
      if (!inside.q.empty() && inside != whole) BoxCuts(state, inside, amount, cuts).collect(rows);
    }
  }
  return cuts;
}

}  // namespace cadenza
