#include "planner/strategies/cad/shed.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/tile.h"

namespace cadenza {
namespace {

/// The cell of a server that fetches most keys; -1 where none does.
int most_fetching_cell(const CadState& state, Rank server) {
  int most = -1;
  for (const int id : state.items_of(server)) {
    const int c = state.item(id).cell;
    if (state.cell(c).use.kv > 0 && (most < 0 || state.cell(c).use.kv > state.cell(most).use.kv)) {
      most = c;
    }
  }
  return most;
}

/// The first run of keys that the cell fetches, no longer than `most` out to a tile.
Range first_fetched(const CadState& state, const WorkCell& cell, int64_t most) {
  Range keys{-1, -1};
  int64_t seen_to = 0;
  for (const int id : cell.items) {
    const Range kv = state.item(id).piece.kv;
    int64_t begin = kv.begin;
    for (const Range& home : cell.home) {
      if (home.contains(begin)) begin = home.end;
    }
    seen_to = std::max(seen_to, kv.end);
    if (begin < kv.end && (keys.begin < 0 || begin < keys.begin)) keys.begin = begin;
  }
  keys.end = std::min(seen_to, (keys.begin + most + kTile - 1) / kTile * kTile);
  for (const Range& home : cell.home) {
    if (home.begin > keys.begin) keys.end = std::min(keys.end, home.begin);
  }
  return keys;
}

/// The last rows of a part that a server may take: by its room, and by its limits.
Piece last_rows_for(const CadState& state, int document, const Piece& part, Rank receiver) {
  const auto rows_from = [&](int64_t tile) {
    return trim({{std::max(part.q.begin, tile * kTile), part.q.end}, part.kv, part.band});
  };
  int64_t low = part.q.begin / kTile, high = (part.q.end + kTile - 1) / kTile;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const Piece rows = rows_from(middle);
    const bool fits =
        rows.q.empty() || (state.cost(rows) <= state.room(receiver) &&
                           state.allows(receiver, state.added(receiver, document, rows)));
    (fits ? high : low) = fits ? middle : middle + 1;
  }
  return rows_from(low);
}

struct Taker {
  Rank server = 0;
  Piece rows;
};

/// The server that takes the part's last rows at least bytes for their cost.
std::optional<Taker> best_taker(const CadState& state, int document, const Piece& part,
                                Rank donor) {
  std::optional<Taker> best;
  double best_rate = 0;
  for (Rank s = 0; s < state.servers(); ++s) {
    if (s == donor || state.room(s) <= 0) continue;
    const Piece rows = last_rows_for(state, document, part, s);
    if (rows.q.empty()) continue;
    // A piece's best possible price falls with its root, so bytes are compared per root of cost.
    const double rate = state.added(s, document, rows).bytes / std::sqrt(state.cost(rows));
    if (best && rate >= best_rate) continue;
    best = Taker{s, rows};
    best_rate = rate;
  }
  return best;
}

/// Gives all that a cell's items do with these keys.
bool give_keys(CadState& state, int c, Range keys) {
  const int document = state.cell(c).document;
  const Rank donor = state.cell(c).server;
  for (bool found = true; found;) {
    found = false;
    for (const int id : state.cell(c).items) {
      const Piece& whole = state.item(id).piece;
      const Range kv = state.request().options.split_kv ? keys : whole.kv;
      const Piece part = trim({whole.q, intersect(whole.kv, kv), whole.band});
      if (intersect(whole.kv, keys).empty() || part.q.empty()) continue;
      const auto taker = best_taker(state, document, part, donor);
      if (!taker) return false;
      state.give(id, {taker->rows.q, part.kv, part.band}, taker->server);
      found = true;
      break;  // the items have changed
    }
  }
  return true;
}

bool shed(CadState& state, Rank server) {
  const auto row = static_cast<double>(state.request().shape.kv_row_bytes());
  while (!state.allows(server, {})) {
    const int c = most_fetching_cell(state, server);
    if (c < 0) return false;
    const ReceiveLimits& limits = state.limits();
    const double above =
        std::max(state.use(server).recv - limits.recv, state.use(server).kv - limits.kv);
    const Range keys =
        first_fetched(state, state.cell(c), static_cast<int64_t>(std::ceil(above / row)));
    if (keys.empty() || !give_keys(state, c, keys)) return false;
  }
  return true;
}

}  // namespace

bool shed_above_limits(CadState& state) {
  for (Rank s = 0; s < state.servers() && state.over_limits() > 0; ++s) {
    if (!shed(state, s)) return false;
  }
  return state.over_limits() == 0;
}

}  // namespace cadenza
