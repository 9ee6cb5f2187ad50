#include "planner/strategies/cad/moves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/tile.h"

namespace cadenza {
namespace {

/// Servers that already hold rows of a document are looked at up to this number, those with most
/// room first. With 6 the bytes are the same within 0.1 % and a search takes half as long again.
constexpr size_t kMaxHolders = 2;

/// Rows of a rectangle as multiples of the number at which Q + O bytes equal K + V bytes. The cost
/// is flat around 1 (6 % more at 0.7 and 1.4), but a document may be too short for the best
/// proportion, and rows held change it. The best of them is refined.
constexpr std::array kProportions{0.4, 0.7, 1.0, 1.4, 2.2};

/// A donor gives this many times what a move gives, or more: the shape of the rest counts.
constexpr double kMoreToCome = 1.5;

/// A search looks at some servers with room at random too.
constexpr int kDrawnReceivers = 2;

template <typename T>
void add_once(std::vector<T>& values, T value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

double root(double x) { return std::sqrt(std::max(0.0, x)); }

/// What a server may get: no more than its room, and no more than fits its limits as one rectangle:
/// x query rows and y key rows fill a limit R with most pairs where Q·x = KV·y = R / 2, and a limit
/// on y alone is kept by a square.
Amount amount_for(const CadState& state, double surplus, Rank receiver) {
  const ReceiveLimits& limits = state.limits();
  double most = state.room(receiver);
  if (limits.any()) {
    const ModelShape& shape = state.request().shape;
    const auto q = static_cast<double>(shape.q_row_bytes());
    const auto kv = static_cast<double>(shape.kv_row_bytes());
    const double recv_left = std::max(0.0, limits.recv - state.use(receiver).recv);
    const double keys_left = std::max(0.0, limits.kv - state.use(receiver).kv) / kv;
    const double pairs = std::min(recv_left * recv_left / (4 * q * kv), keys_left * keys_left);
    most = std::min(most, pairs * state.cost_per_pair());
  }
  return {std::min(surplus, most), std::max(most, 0.0)};
}

}  // namespace

/// The two largest items offer the best rectangles; those next to the amount in size may go whole.
void MoveFinder::find_items(Rank donor, Amount amount) {
  int largest = -1, second = -1, above = -1, below = -1;
  const auto cost = [&](int id) { return state_.item(id).cost; };
  for (const int id : state_.items_of(donor)) {
    if (largest < 0 || cost(id) > cost(largest)) {
      second = largest;
      largest = id;
    } else if (second < 0 || cost(id) > cost(second)) {
      second = id;
    }
    if (cost(id) >= amount.wanted && (above < 0 || cost(id) < cost(above))) above = id;
    if (cost(id) <= amount.most && (below < 0 || cost(id) > cost(below))) below = id;
  }
  items_.clear();
  for (const int id : {largest, second, above, below}) {
    if (id >= 0) add_once(items_, id);
  }
}

/// Servers with room: the one with most, and the one whose room is the least that holds the
/// surplus.
void MoveFinder::find_receivers(double surplus) {
  const RoomOrder& rooms = state_.rooms();
  receivers_.clear();
  if (rooms.most().first > 0) receivers_.push_back(rooms.most().second);
  const size_t next = rooms.first_with(surplus);
  if (next < rooms.size()) add_once(receivers_, rooms[next].second);
  if (noise_ == 0) return;
  const size_t first = rooms.first_with(0);
  for (int i = 0; i < kDrawnReceivers && first < rooms.size(); ++i) {
    const size_t n = rooms.size() - first;
    const Rank drawn = rooms[first + static_cast<size_t>((*rng_)() >> 11) % n].second;
    if (state_.room(drawn) > 0) add_once(receivers_, drawn);
  }
}

void MoveFinder::find_holders(int document, Rank donor) {
  all_receivers_.clear();
  for (const int c : state_.cells_of(document)) {
    const WorkCell& cell = state_.cell(c);
    const bool holds = !cell.items.empty() || !cell.home.empty();
    if (holds && cell.server != donor && state_.room(cell.server) > 0) {
      all_receivers_.push_back(cell.server);
    }
  }
  const auto more_room = [&](Rank a, Rank b) {
    return std::pair(-state_.room(a), a) < std::pair(-state_.room(b), b);
  };
  if (all_receivers_.size() > kMaxHolders) {
    std::partial_sort(all_receivers_.begin(), all_receivers_.begin() + kMaxHolders,
                      all_receivers_.end(), more_room);
    all_receivers_.resize(kMaxHolders);
  }
}

double MoveFinder::noise() {
  if (noise_ == 0) return 0;
  return noise_ * static_cast<double>((*rng_)() >> 11) * 0x1p-53;
}

/// The score adds to the bytes what the rest of the surplus will cost at least, and takes off what
/// has been gained of the receiver's room: so a cut that ends both wins against crumbs.
bool MoveFinder::score(const Place& place, const std::optional<Cut>& cut) {
  ++work_;
  if (!cut) return false;
  const WorkItem& item = state_.item(place.item);
  const CellUse added = state_.added(place.receiver, item.document, cut->part);
  if (state_.limits().any() && !state_.allows(place.receiver, added)) return false;
  const double left = weights_.surplus * root(place.surplus - cut->cost) +
                      weights_.room * (root(place.room - cut->cost) - root(place.room));
  double bias = 0;
  if (weights_.more_rows > 0 && place.surplus > kMoreToCome * cut->cost) {
    const ModelShape& shape = state_.request().shape;
    bias = weights_.more_rows *
           static_cast<double>(cut->part.q.size() * (shape.q_row_bytes() + shape.o_row_bytes()));
  }
  const double without_release =
      bias + added.bytes + state_.bytes_per_root_cost() * (left + noise_here_ * root(cut->cost));
  if (best_ && without_release - state_.most_released(place.item, cut->box) >= best_->score) {
    return false;
  }
  const double score = without_release - state_.released(place.item, cut->box).bytes;
  if (best_ && score >= best_->score) return false;
  best_ = Move{place.item, cut->box, place.receiver, cut->cost, score};
  best_place_ = place;
  return true;
}

/// Whole prefixes of keys: n rows that end at row p cost Q + O each, and p keys. With n·p pairs
/// wanted that is least at the same p as the keys of the best rectangle.
void MoveFinder::consider_prefixes(const Place& place, const Piece& box, Amount amount) {
  const double keys = state_.bytes_per_root_cost() * std::sqrt(amount.wanted) /
                      static_cast<double>(2 * state_.request().shape.kv_row_bytes());
  noise_here_ = noise();
  best_tiles_ = 0;
  int64_t previous = 0;
  for (const double proportion : {0.5, 0.75, 1.0, 1.4, 2.0, 3.0, 1e18}) {
    const double end = std::min(static_cast<double>(box.q.end),
                                static_cast<double>(box.kv.begin) + keys * proportion);
    const int64_t row = end < static_cast<double>(box.q.end)
                            ? static_cast<int64_t>(end) / kTile * kTile
                            : box.q.end;
    if (row <= box.q.begin || row == previous) continue;
    previous = row;
    const Piece early = trim({{box.q.begin, row}, box.kv, box.band});
    if (early.q.empty()) continue;
    if (score(place,
              BoxCuts(state_, {{box.q.begin, row}, box.kv, box.band}, amount).with_all_keys()))
      best_tiles_ = 0;
  }
}

void MoveFinder::consider_box(const Place& place, const Piece& box, Amount amount) {
  const BoxCuts cuts(state_, box, amount);
  const ModelShape& shape = state_.request().shape;
  const double tiles = state_.bytes_per_root_cost() * std::sqrt(amount.wanted) /
                       static_cast<double>(2 * (shape.q_row_bytes() + shape.o_row_bytes())) / kTile;
  const auto all = static_cast<double>(cuts.all_tiles());
  noise_here_ = noise();
  const auto keep = [&](int64_t n) {
    best_box_ = box;
    best_amount_ = amount;
    best_tiles_ = n;
    best_noise_ = noise_here_;
  };
  int64_t previous = 0;
  for (const double proportion : kProportions) {
    const auto n = static_cast<int64_t>(std::clamp(std::round(tiles * proportion), 1.0, all));
    if (n != previous && score(place, cuts.with_rows(n))) keep(n);
    previous = n;
  }
  if (cuts.all_tiles() != previous && score(place, cuts.with_rows(cuts.all_tiles()))) {
    keep(cuts.all_tiles());
  }
  if (score(place, cuts.with_all_keys())) keep(0);
}

void MoveFinder::refine() {
  if (!best_ || best_tiles_ == 0) return;
  const BoxCuts cuts(state_, best_box_, best_amount_);
  noise_here_ = best_noise_;
  for (int64_t step = std::max<int64_t>(1, best_tiles_ / 6);; step /= 2) {
    for (const int64_t n : {best_tiles_ - step, best_tiles_ + step}) {
      if (n < 1 || n > cuts.all_tiles()) continue;
      if (score(best_place_, cuts.with_rows(n))) best_tiles_ = n;
    }
    if (step == 1) break;
  }
}

void MoveFinder::consider(int id, Rank receiver, Amount amount) {
  const WorkItem& item = state_.item(id);
  const Place place{id, receiver, -state_.room(item.server), state_.room(receiver)};
  if (!state_.request().options.split_kv) return consider_prefixes(place, item.piece, amount);
  consider_box(place, item.piece, amount);
  for (const auto side : {&Piece::kv, &Piece::q}) {
    const Piece box = held_box(state_, id, receiver, side);
    if (!box.q.empty() && box != item.piece) consider_box(place, box, amount);
  }
}

std::optional<Move> MoveFinder::best_move(Rank donor) {
  const double surplus = -state_.room(donor);
  const double most_room = state_.rooms().most().first;
  best_.reset();
  if (most_room <= 0 || state_.items_of(donor).empty()) return std::nullopt;
  find_receivers(surplus);
  find_items(donor, {std::min(surplus, most_room), most_room});
  for (const int id : items_) {
    find_holders(state_.item(id).document, donor);
    for (const Rank receiver : receivers_) add_once(all_receivers_, receiver);
    for (const Rank receiver : all_receivers_) give_to(id, receiver, surplus);
  }
  if (!best_ && state_.limits().any()) try_all_receivers(donor, surplus);
  refine();
  return best_;
}

void MoveFinder::give_to(int id, Rank receiver, double surplus) {
  const Amount amount = amount_for(state_, surplus, receiver);
  if (amount.wanted > 0) consider(id, receiver, amount);
}

/// Near their limits most servers take nothing, and the few tried may be among those.
void MoveFinder::try_all_receivers(Rank donor, double surplus) {
  const RoomOrder& rooms = state_.rooms();
  for (size_t i = rooms.first_with(0); i < rooms.size(); ++i) {
    const Rank receiver = rooms[i].second;
    if (receiver == donor || state_.room(receiver) <= 0) continue;
    for (const int id : items_) give_to(id, receiver, surplus);
  }
}

std::optional<Move> MoveFinder::best_move_to(Rank donor, Rank receiver, Amount amount) {
  best_.reset();
  find_items(donor, amount);
  for (const int id : items_) consider(id, receiver, amount);
  refine();
  return best_;
}

}  // namespace cadenza
