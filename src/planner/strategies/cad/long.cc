#include "planner/strategies/cad/long.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "planner/strategies/cad/moves.h"
#include "planner/tile.h"

namespace cadenza {
namespace {

// A server that holds rows [b, e) of a long document works most cheaply on all of these rows × as
// many of the latest keys [c, e) as its cap allows: it fetches the keys c .. b and nothing else.
// Or, where its surplus is small, it gives only its last rows × [0, c), fetches all the earlier
// keys, and saves the other rows a journey. What is given is a staircase over all shards. It is cut
// as a mesh: columns of about the width that the best rectangle has, and in each column blocks of
// rows, the latest first, each as large as the room of the server that gets it. A block may cross
// shards: so the surplus of all the document's servers is one amount, and few servers get crumbs of
// it.

/// A document on two servers has one shard that may give: a single move does as well.
constexpr size_t kFewestShards = 3;

/// Shares of a shard's rows that are tried, and the receivers' room below which they are not worth
/// a block, as a part of the cap.
constexpr int kParts = 8;
constexpr double kLeastRoom = 1.0 / 16;

struct Step {
  Range rows;  // of them the keys before `kept` are given away
  Rank home = 0;
  int64_t kept = 0;
};

/// The staircase supposes one shard on each home.
bool one_shard_a_home(const Document& document) {
  std::vector<Rank> homes;
  for (const Shard& shard : document.shards) homes.push_back(shard.home);
  std::sort(homes.begin(), homes.end());
  return std::adjacent_find(homes.begin(), homes.end()) == homes.end();
}

bool is_causal(const Document& document) {
  return document.mask.kind == Mask::Kind::kCausal && document.queries == Range{0, document.length};
}

class LongDocument {
 public:
  LongDocument(CadState& state, int document) : state_(state), document_(document) {
    for (const Shard& shard : state.batch().documents[static_cast<size_t>(document)].shards) {
      steps_.push_back(best_step(shard));
      left_ += cost_of(steps_.back().rows, {0, steps_.back().kept});
    }
  }

  /// Columns of about the width of the best rectangle.
  int64_t best_columns() const {
    return static_cast<int64_t>(
        std::max(1.0, std::round(static_cast<double>(width()) / best_keys())));
  }
  double surplus() const { return left_; }
  /// True where every shard's home has time for its own triangle: the staircase supposes it.
  bool keeps_diagonal() const { return keeps_diagonal_; }

  /// Steps looked at: each takes about as long as half an evaluation of a move.
  int64_t work() const { return work_ / 2; }

  /// Scores of servers are spread by up to this part, so that a search finds other layouts.
  void set_noise(double noise, Rng* rng) {
    noise_ = noise;
    rng_ = rng;
  }

  void spread(int64_t columns) {
    int64_t begin = 0;
    for (int64_t c = 1; c <= columns; ++c) {
      const int64_t end = column_end(width() * c / columns, width() / columns);
      if (end > begin) spread_column({begin, end});
      begin = std::max(begin, end);
    }
  }

 private:
  double cost_of(Range rows, Range keys) const {
    const Piece piece{rows, keys, Band::causal()};
    if (state_.counts_pairs()) return state_.cost(piece);
    const Piece part = trim(piece);
    return part.q.empty() ? 0 : state_.cost(part);
  }

  /// What the home does of its own rows, and not of others'.
  double load_of_rows(const Shard& shard) const {
    const int c = state_.find_cell(document_, shard.home);
    double load = 0;
    if (c < 0) return 0;
    for (const int id : state_.cell(c).items) {
      if (shard.rows.contains(state_.item(id).piece.q)) load += state_.item(id).cost;
    }
    return load;
  }

  /// The least c, a multiple of the tile, with which giving the rows from `first` on × [0, c)
  /// leaves no more than `time`; none where that passes the shard's begin.
  std::optional<int64_t> kept_from(const Shard& shard, int64_t first, double surplus) const {
    const int64_t last = std::max(first, shard.rows.begin) / kTile;
    int64_t low = 0, high = last + 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (cost_of({first, shard.rows.end}, {0, middle * kTile}) >= surplus) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low > last) return std::nullopt;
    return low * kTile;
  }

  /// What a shard gives: its last rows × the first keys, in the proportion that moves least.
  Step best_step(const Shard& shard) {
    if (state_.cap(shard.home) <= 0) return {shard.rows, shard.home, shard.rows.end};
    Step best{{shard.rows.end, shard.rows.end}, shard.home, 0};
    const double all = cost_of(shard.rows, {0, shard.rows.end}), own = load_of_rows(shard);
    if (own < all * (1 - 1e-9)) return best;  // a part is with the keys already
    const double surplus = -state_.room(shard.home);
    if (surplus <= 0) return best;
    const ModelShape& shape = state_.request().shape;
    const double row = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes());
    const double key = static_cast<double>(shape.kv_row_bytes());
    const double blocks = surplus / std::max(1.0, state_.rooms().most().first);
    double best_bytes = -1;
    for (int part = 1; part <= kParts; ++part) {
      const int64_t first =
          part == kParts ? shard.rows.begin
                         : (shard.rows.end - shard.rows.size() * part / kParts) / kTile * kTile;
      if (first < shard.rows.begin) continue;
      const auto kept = kept_from(shard, first, surplus);
      if (!kept) continue;
      const int64_t fetched = part == kParts ? shard.rows.begin - *kept : shard.rows.begin;
      const double bytes =
          static_cast<double>(shard.rows.end - first) * row +
          (static_cast<double>(fetched) + blocks * static_cast<double>(*kept)) * key;
      if (best_bytes >= 0 && bytes >= best_bytes) continue;
      best_bytes = bytes;
      best = {{first, shard.rows.end}, shard.home, *kept};
    }
    if (best_bytes < 0) keeps_diagonal_ = false;
    return best;
  }

  int64_t width() const {
    int64_t width = 0;
    for (const Step& step : steps_) width = std::max(width, step.kept);
    return width;
  }

  /// Near a step of the staircase a column ends there: the rest of the step would be a sliver.
  int64_t column_end(int64_t wanted, int64_t width) const {
    int64_t end = wanted / kTile * kTile;
    int64_t nearest = width * 2 / 5;
    for (const Step& step : steps_) {
      if (std::abs(step.kept - wanted) > nearest) continue;
      nearest = std::abs(step.kept - wanted);
      end = step.kept;
    }
    return end;
  }

  /// Keys of the best rectangle for the server with most room.
  double best_keys() const {
    const double amount = std::min(left_, state_.rooms().most().first);
    return std::max(1.0, state_.bytes_per_root_cost() * std::sqrt(std::max(0.0, amount)) / 2 /
                             static_cast<double>(state_.request().shape.kv_row_bytes()));
  }

  /// A block of rows that ends where the last one began, and its cost.
  struct Block {
    Range rows;
    double cost = 0;
    int64_t widest = 0;  // end of the keys that any of its rows gives
  };

  /// The rows before `end` that make the amount in a column, but not past it: whole steps first,
  /// then tiles of one.
  Block block(int64_t end, Range column, double amount) const {
    Block block{{end, end}, 0, 0};
    for (size_t i = steps_.size(); i-- > 0;) {
      ++work_;
      const Range rows = intersect(steps_[i].rows, {0, end});
      const Range keys = intersect(column, {0, steps_[i].kept});
      if (rows.empty() || keys.empty()) continue;
      const double cost = cost_of(rows, keys);
      const bool whole = block.cost + cost <= amount;
      const int64_t begin = whole ? rows.begin : first_row(rows, keys, amount - block.cost);
      if (begin < rows.end) {
        block.cost += whole ? cost : cost_of({begin, rows.end}, keys);
        block.rows.begin = begin;
        block.widest = std::max(block.widest, keys.end);
      }
      if (!whole) break;
    }
    return block;
  }

  /// The first row, on a tile, from which on rows × keys cost no more than `amount`.
  int64_t first_row(Range rows, Range keys, double amount) const {
    int64_t low = rows.begin / kTile, high = (rows.end + kTile - 1) / kTile;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (cost_of({std::min(middle * kTile, rows.end), rows.end}, keys) <= amount) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return std::clamp(low * kTile, rows.begin, rows.end);
  }

  void spread_column(Range column) {
    int64_t end = steps_.back().rows.end;
    while (left_ > 0) {
      const std::optional<Rank> server = best_server(end, column);
      if (!server) return;
      const Range rows = block(end, column, state_.room(*server)).rows;
      give(rows, column, *server);
      end = rows.begin;
    }
  }

  std::vector<Rank> candidates() const {
    const RoomOrder& rooms = state_.rooms();
    std::vector<Rank> ranks{rooms.most().second};
    const size_t next = rooms.first_with(left_);
    if (next < rooms.size()) ranks.push_back(rooms[next].second);
    for (const int c : state_.cells_of(document_)) ranks.push_back(state_.cell(c).server);
    return ranks;
  }

  std::optional<Rank> best_server(int64_t end, Range column) const {
    std::optional<Rank> best;
    double best_score = 0;
    for (const Rank server : candidates()) {
      const double room = state_.room(server);
      if (room < kLeastRoom * state_.cap(server)) continue;
      const Block block = this->block(end, column, room);
      if (block.cost <= 0) continue;
      const double cost = block.cost;
      const Piece box{block.rows, {column.begin, block.widest}, Band::causal()};
      const double bytes = state_.added(server, document_, box).bytes;
      const double luck =
          rng_ == nullptr ? 0 : noise_ * static_cast<double>((*rng_)() >> 11) * 0x1p-53;
      const double score =
          bytes +
          state_.bytes_per_root_cost() *
              (luck * std::sqrt(cost) + kSurplusWeight * std::sqrt(std::max(0.0, left_ - cost)) +
               kRoomWeight * (std::sqrt(std::max(0.0, room - cost)) - std::sqrt(room)));
      if (!best || score < best_score) {
        best = server;
        best_score = score;
      }
    }
    return best;
  }

  void give(Range rows, Range column, Rank server) {
    for (const Step& step : steps_) {
      const Range q = intersect(rows, step.rows);
      const Range keys = intersect(column, {0, step.kept});
      if (q.empty() || keys.empty() || step.home == server) continue;
      left_ -= cost_of(q, keys);
      give_from(step.home, {q, keys, Band::causal()}, server);
    }
  }

  /// The home's items of these rows, whichever they have been cut into.
  void give_from(Rank home, const Piece& box, Rank server) {
    const std::vector<int> ids = state_.cell(state_.find_cell(document_, home)).items;
    for (const int id : ids) {
      const Piece part = intersect(state_.item(id).piece, box);
      if (!part.q.empty() && !part.kv.empty() && count_pairs(part) > 0) {
        state_.give(id, part, server);
      }
    }
  }

  CadState& state_;
  const int document_;
  std::vector<Step> steps_;
  double left_ = 0;  // cost to give away
  bool keeps_diagonal_ = true;
  double noise_ = 0;
  Rng* rng_ = nullptr;
  mutable int64_t work_ = 0;
};

/// Bytes, and what the surplus of all servers and the room that is left are worth.
double potential(const CadState& state) {
  double value = 0;
  for (Rank s = 0; s < state.servers(); ++s) {
    const double room = state.room(s);
    value += room < 0 ? kSurplusWeight * std::sqrt(-room) : kRoomWeight * std::sqrt(room);
  }
  return state.bytes() + state.bytes_per_root_cost() * value;
}

}  // namespace

int64_t spread_long_documents(CadState& state, double noise, Rng& rng) {
  int64_t work = 0;
  for (int d = 0; d < state.documents(); ++d) {
    const Document& document = state.batch().documents[static_cast<size_t>(d)];
    if (document.shards.size() < kFewestShards || !is_causal(document) ||
        !one_shard_a_home(document)) {
      continue;
    }
    LongDocument first(state, d);
    if (noise > 0) first.set_noise(noise, &rng);
    if (first.surplus() < state.rooms().most().first) continue;
    if (!first.keeps_diagonal()) continue;
    const int64_t columns = first.best_columns();
    const size_t mark = state.mark();
    const Rng luck = rng;
    int64_t best = 0;
    double best_score = potential(state);
    for (int64_t n = std::max<int64_t>(1, columns - 1); n <= columns + 1; ++n) {
      rng = luck;  // the best is laid out again
      LongDocument layout(first);
      layout.spread(n);
      work += layout.work();
      const double score = potential(state);
      if (score < best_score) {
        best_score = score;
        best = n;
      }
      state.undo(mark);
    }
    rng = luck;
    if (best > 0) LongDocument(first).spread(best);
  }
  return work;
}

bool spread_again(CadState& state, int document, double noise, Rng& rng) {
  const Document& d = state.batch().documents[static_cast<size_t>(document)];
  if (d.shards.size() < 2 || !is_causal(d)) return false;
  LongDocument layout(state, document);
  if (layout.surplus() <= 0 || !layout.keeps_diagonal()) return false;
  layout.set_noise(noise, &rng);
  const int64_t columns = layout.best_columns() + static_cast<int64_t>((rng() >> 11) % 4) - 1;
  layout.spread(std::max<int64_t>(1, columns));
  return true;
}

}  // namespace cadenza
