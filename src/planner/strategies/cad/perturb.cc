#include "planner/strategies/cad/perturb.h"

#include <algorithm>
#include <cmath>

#include "planner/strategies/cad/long.h"
#include "planner/tile.h"

namespace cadenza {
namespace {

/// Parts of the changes, the rest being cells. Strips are what gets the last per cents: without
/// them 1 to 3 % more bytes are left; with nothing else as much.
constexpr double kStrips = 0.6, kLayouts = 0.06, kServers = 0.17;

/// A cell is cleared with all that other servers do of its document, by this chance and unless too
/// many do.
constexpr double kWholeDocument = 0.3;
constexpr size_t kMostCellsOfDocument = 16;

/// At most so many cells, or servers, in one change.
constexpr size_t kMostCleared = 4;

/// Of so many items or cells drawn, the largest or most wasteful is taken.
constexpr int kDrawn = 2;

/// In evaluations of moves: a strip, a layout.
constexpr int64_t kStripWork = 3, kLayoutWork = 300;

int64_t tiles_in(Range range) { return (range.size() + kTile - 1) / kTile; }

}  // namespace

CadPerturbation::CadPerturbation(CadState& state, Rng& rng) : state_(state), rng_(rng) {
  if (!state.request().options.split_kv) return;  // layouts split keys
  for (int d = 0; d < state.documents(); ++d) {
    if (state.batch().documents[static_cast<size_t>(d)].shards.size() > 1)
      long_documents_.push_back(d);
  }
}

bool CadPerturbation::change() {
  const double which = uniform();
  if (which < kStrips) return shift_strip();
  if (which < kStrips + kLayouts && !long_documents_.empty()) return lay_out_again();
  if (which < kStrips + kLayouts + kServers) return clear_servers();
  return clear_cells(1 + below(kMostCleared));
}

int CadPerturbation::draw_item() {
  for (int tries = 0; tries < 8; ++tries) {
    const std::vector<int>& items = state_.items_of(any_server());
    if (items.empty()) continue;
    int largest = items[below(items.size())];
    for (int i = 0; i < kDrawn; ++i) {
      const int other = items[below(items.size())];
      if (state_.item(other).cost > state_.item(largest).cost) largest = other;
    }
    return largest;
  }
  return -1;
}

/// First or last rows, or keys, of a piece, or all of it; few tiles as likely as many.
Piece CadPerturbation::strip_of(const Piece& piece) {
  Piece strip = piece;
  // All of it, or from the begin or the end of the rows, or of the keys where they may be split.
  const size_t side = below(state_.request().options.split_kv ? 5 : 3);
  if (side == 0) return strip;
  Range& range = side <= 2 ? strip.q : strip.kv;
  const int64_t all = tiles_in(range);
  const auto tiles = 1 + static_cast<int64_t>(std::pow(static_cast<double>(all), uniform()));
  if (tiles >= all) return strip;
  if (side % 2 == 0) {
    range.end = std::min(range.end, (range.begin / kTile + tiles) * kTile);
  } else {
    range.begin = std::max(range.begin, (range.end + kTile - 1) / kTile * kTile - tiles * kTile);
  }
  return strip;
}

bool CadPerturbation::shift_strip() {
  const int id = draw_item();
  if (id < 0) return false;
  const WorkItem& item = state_.item(id);
  const std::vector<int>& cells = state_.cells_of(item.document);
  const WorkCell& to = state_.cell(cells[below(cells.size())]);
  if (to.server == item.server || (to.items.empty() && to.home.empty())) return false;
  const Piece strip = strip_of(item.piece);
  if (strip.q.empty() || strip.kv.empty() || count_pairs(strip) == 0) return false;
  work_ += kStripWork;
  state_.give(id, strip, to.server);
  return true;
}

/// What the cell moves above one rectangle of the same cost.
double CadPerturbation::waste(int c) const {
  double cost = 0;
  for (const int id : state_.cell(c).items) cost += state_.item(id).cost;
  return state_.cell(c).use.bytes - state_.bytes_per_root_cost() * std::sqrt(cost);
}

/// A cell that moves bytes; -1 where luck fails.
int CadPerturbation::draw_cell() {
  for (int i = 0; i < 16; ++i) {
    const std::vector<int>& items = state_.items_of(any_server());
    for (int j = 0; j < 4 && !items.empty(); ++j) {
      const int c = state_.item(items[below(items.size())]).cell;
      if (state_.cell(c).use.bytes > 0) return c;
    }
  }
  return -1;
}

bool CadPerturbation::clear_cell() {
  int c = draw_cell();
  for (int i = 1; i < kDrawn; ++i) {
    const int other = draw_cell();
    if (c < 0 || (other >= 0 && waste(other) > waste(c))) c = other;
  }
  if (c < 0) return false;
  const int document = state_.cell(c).document;
  if (state_.cells_of(document).size() < kMostCellsOfDocument && uniform() < kWholeDocument) {
    state_.return_document(document);
  } else {
    state_.return_foreign(c);
  }
  return true;
}

bool CadPerturbation::clear_cells(size_t count) {
  bool cleared = false;
  for (; count > 0; --count) cleared = clear_cell() || cleared;
  return cleared;
}

void CadPerturbation::clear_server(Rank server) {
  const auto next = [&] {
    for (const int id : state_.items_of(server)) {
      const int c = state_.item(id).cell;
      const bool seen = std::find(cleared_.begin(), cleared_.end(), c) != cleared_.end();
      if (!seen && state_.cell(c).use.bytes > 0) return c;
    }
    return -1;
  };
  for (int c = next(); c >= 0; c = next()) {
    cleared_.push_back(c);  // what its own queries fetch stays
    state_.return_foreign(c);
  }
}

/// Servers that work on one document, or any: together they may find another way to share it.
bool CadPerturbation::clear_servers() {
  const int c = draw_cell();
  if (c < 0) return false;
  cleared_.clear();
  const std::vector<int>& together = state_.cells_of(state_.cell(c).document);
  clear_server(state_.cell(c).server);
  for (size_t n = below(kMostCleared); n > 0; --n) {
    const int other = uniform() < 0.5 ? together[below(together.size())] : draw_cell();
    if (other >= 0) clear_server(state_.cell(other).server);
  }
  return true;
}

bool CadPerturbation::lay_out_again() {
  for (size_t n = 1 + below(2); n > 0; --n) {
    clear_cells(below(3));
    const int document = long_documents_[below(long_documents_.size())];
    state_.return_document(document);
    work_ += kLayoutWork;
    constexpr double kLayoutNoise = 0.3;
    spread_again(state_, document, kLayoutNoise * uniform(), rng_);
  }
  clear_cells(below(kMostCleared));
  return true;
}

}  // namespace cadenza
