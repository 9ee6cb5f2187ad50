#include "planner/strategies/cad/improve.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "planner/strategies/cad/repair.h"

namespace cadenza {
namespace {

// A plan is good where almost every importer works on one rectangle of the best proportion. What
// keeps it from that is found by looking at what a server moves above one such rectangle: cells
// with much of that waste are likely to be cleared. What they did goes home; the homes are then
// above their caps, and the moves that bring them down are drawn with some noise.

/// What clearing and undoing cost, in evaluations of moves.
constexpr int64_t kRoundWork = 20;

/// A cell to clear is the most wasteful of so many that are drawn.
constexpr int kDrawn = 3;

/// At most so many cells are cleared in a round, and this part of them with all that other servers
/// do of the document, unless too many do.
constexpr size_t kMostCleared = 3, kMostCellsOfDocument = 16;
constexpr size_t kWholeDocumentPercent = 30;

class Search {
 public:
  Search(CadState& state, const ImproveOptions& options)
      : state_(state), finder_(state), rng_(options.seed) {
    finder_.set_noise(options.noise, &rng_);
  }

  /// A round that finds nothing to clear does no work, so rounds are counted too.
  void run(const ImproveOptions& options) {
    while (finder_.work() + kRoundWork * rounds_ < options.work) {
      if (options.until_feasible && feasible()) return;
      round();
    }
  }

 private:
  void round() {
    ++rounds_;
    const size_t mark = state_.mark();
    const Value before = value();
    for (size_t n = 1 + below(kMostCleared); n > 0; --n) clear_one();
    bring_under_caps(state_, finder_);
    if (value() >= before) state_.undo(mark);
    state_.forget();
  }

  /// What is to be small, the first first: servers above a limit, what servers have above their
  /// caps, bytes.
  using Value = std::tuple<int, double, double>;
  Value value() const {
    double surplus = 0;
    const RoomOrder& rooms = state_.rooms();
    for (size_t i = 0; i < rooms.size() && rooms[i].first < 0; ++i) surplus -= rooms[i].first;
    return {state_.over_limits(), surplus, state_.bytes()};
  }

  bool feasible() const { return state_.over_limits() == 0 && state_.rooms().least().first >= 0; }

  size_t below(size_t n) { return static_cast<size_t>(rng_() >> 11) % n; }

  /// What the cell moves above one rectangle of the same cost.
  double waste(int c) const {
    double cost = 0;
    for (const int id : state_.cell(c).items) cost += state_.item(id).cost;
    return state_.cell(c).use.bytes - state_.bytes_per_root_cost() * std::sqrt(cost);
  }

  /// A cell that moves bytes; -1 where luck fails.
  int draw_cell() {
    for (int i = 0; i < 16; ++i) {
      const auto& items = state_.items_of(static_cast<Rank>(below(server_count())));
      for (int j = 0; j < 4 && !items.empty(); ++j) {
        const int c = state_.item(items[below(items.size())]).cell;
        if (state_.cell(c).use.bytes > 0) return c;
      }
    }
    return -1;
  }

  void clear_one() {
    int c = draw_cell();
    for (int i = 1; i < kDrawn; ++i) {
      const int other = draw_cell();
      if (c < 0 || (other >= 0 && waste(other) > waste(c))) c = other;
    }
    if (c < 0) return;
    const int document = state_.cell(c).document;
    if (state_.cells_of(document).size() < kMostCellsOfDocument &&
        below(100) < kWholeDocumentPercent) {
      state_.return_document(document);
    } else {
      state_.return_foreign(c);
    }
  }

  size_t server_count() const { return static_cast<size_t>(state_.servers()); }

  CadState& state_;
  MoveFinder finder_;
  Rng rng_;
  int64_t rounds_ = 0;
};

}  // namespace

void improve(CadState& state, const ImproveOptions& options) {
  state.forget();
  Search(state, options).run(options);
}

}  // namespace cadenza
