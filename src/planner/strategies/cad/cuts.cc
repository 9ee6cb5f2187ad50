#include "planner/strategies/cad/cuts.h"

#include <algorithm>
#include <cmath>

#include "planner/strategies/cad/ranges.h"
#include "planner/tile.h"

namespace cadenza {
namespace {

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

}  // namespace

BoxCuts::BoxCuts(const CadState& state, const Piece& box, Amount amount)
    : state_(state), box_(box), amount_(amount), all_tiles_(tiles_in(box.q)) {}

Piece BoxCuts::rows_of(int64_t tiles) const {
  const Range rows = last_tiles(box_.q, tiles);
  return {rows, trim({rows, box_.kv, box_.band}).kv, box_.band};
}

std::optional<Cut> BoxCuts::with_rows(int64_t tiles) const {
  if (state_.counts_pairs() && box_.band.lowest == Band::kUnboundedBelow) {
    return counted_with_rows(tiles);
  }
  const Piece rows = rows_of(tiles);
  if (rows.kv.empty()) return std::nullopt;
  return reaching(tiles_in(rows.kv), [&](int64_t keys) {
    return Piece{rows.q, first_tiles(rows.kv, keys), rows.band};
  });
}

// Without a lowest bound and counting pairs: the keys up to `wide` are seen by all n rows, and the
// i-th key after them by n − i. So w keys make n·w pairs, less the triangle t·(t + 1) / 2 of the
// t = w − wide keys that are not seen by all.
std::optional<Cut> BoxCuts::counted_with_rows(int64_t tiles) const {
  const Range rows = last_tiles(box_.q, tiles);
  const auto n = static_cast<double>(rows.size());
  const int64_t seen = std::min(box_.kv.end, rows.end + box_.band.highest);  // by the last row
  if (seen <= box_.kv.begin) return std::nullopt;
  const auto wide = static_cast<double>(rows.begin + box_.band.highest + 1 - box_.kv.begin);
  double width = amount_.wanted / n;
  if (width > wide) {
    // n·(wide + t) − t·(t + 1) / 2 = wanted, the smaller root
    const double b = n - 0.5, c = amount_.wanted - n * wide;
    const double inside = b * b - 2 * c;
    width = inside > 0 ? wide + b - std::sqrt(inside) : static_cast<double>(seen);
  }
  const auto pairs_to = [&](int64_t end) {
    return static_cast<double>(count_pairs({rows, {box_.kv.begin, end}, box_.band}));
  };
  const double exact =
      std::min(static_cast<double>(seen), width + static_cast<double>(box_.kv.begin));
  auto edge = (static_cast<int64_t>(std::ceil(exact - 1e-6)) + kTile - 1) / kTile * kTile;
  edge = std::min(edge, seen);
  if (edge <= box_.kv.begin) return std::nullopt;
  double cost = pairs_to(edge);
  if (cost > amount_.most) {
    edge = (edge - 1) / kTile * kTile;
    if (edge <= box_.kv.begin) return std::nullopt;
    cost = pairs_to(edge);
    if (cost > amount_.most) return std::nullopt;
  }
  const Piece box{rows, {box_.kv.begin, edge}, box_.band};
  const Piece part{
      {std::max(rows.begin, box_.kv.begin - box_.band.highest), rows.end}, box.kv, box_.band};
  return Cut{box, part, cost};
}

std::optional<Cut> BoxCuts::with_all_keys() const {
  return reaching(all_tiles_, [&](int64_t tiles) { return rows_of(tiles); });
}

template <typename BoxOf>
std::optional<Cut> BoxCuts::reaching(int64_t last, const BoxOf& box_of) const {
  const auto cost_of = [&](int64_t n) { return state_.cost(box_of(n)); };
  int64_t n = first_reaching(last, amount_.wanted, cost_of);
  double cost = cost_of(n);
  if (cost > amount_.most) cost = --n > 0 ? cost_of(n) : 0.0;
  if (cost <= 0 || cost > amount_.most) return std::nullopt;
  return Cut{box_of(n), trim(box_of(n)), cost};
}

Piece held_box(const CadState& state, int id, Rank receiver, Range Piece::*side) {
  const WorkItem& item = state.item(id);
  Piece box = item.piece;
  const int c = state.find_cell(item.document, receiver);
  if (c < 0) return {{}, {}, box.band};
  const WorkCell& cell = state.cell(c);
  OrderedRanges held(cell.home.size() + cell.items.size());
  for (const Range& home : cell.home) held.add(home);
  for (const int other : cell.items) held.add(state.item(other).piece.*side);
  const auto& shards = state.batch().documents[static_cast<size_t>(item.document)].shards;
  Range largest;
  held.visit_union([&](Range r) {
    if (intersect(r, box.*side).size() <= largest.size()) return;
    const Range inside = snapped(r, box.*side, shards);
    if (inside.size() > largest.size()) largest = inside;
  });
  if (largest.empty()) return {{}, {}, box.band};
  box.*side = largest;
  return covering_tiles(box);
}

}  // namespace cadenza
