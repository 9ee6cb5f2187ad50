#include "planner/strategies/cad/repair.h"

#include <algorithm>
#include <utility>

namespace cadenza {
namespace {

/// Moves above which a loop gives up: far more than it takes (at most about two a server, and one
/// for each short document).
int64_t move_limit(const CadState& state) {
  return 16 * (static_cast<int64_t>(state.servers()) + 4) + 2 * state.documents();
}

/// An item below this part of the amount is given whole without a search: hundreds of short
/// documents would otherwise each be searched, and no cut of a short document is better than a
/// whole one.
constexpr double kCrumb = 1.0 / 16;

/// Gives whole items, the largest first, to the server with most room while they are crumbs of what
/// it shall get. One receiver, because neighbouring chunks of a document then arrive as one range.
/// True where it gave any.
bool give_crumbs(CadState& state, Rank donor) {
  if (state.limits().any()) return false;  // a run of crumbs is not checked against limits
  const auto [room, receiver] = state.rooms().most();
  const double wanted = std::min(-state.room(donor), room);
  const auto cost = [&](int id) { return state.item(id).cost; };
  const auto smaller = [&](int a, int b) { return std::pair(cost(a), a) < std::pair(cost(b), b); };
  const std::vector<int>& items = state.items_of(donor);
  if (items.empty()) return false;
  if (cost(*std::max_element(items.begin(), items.end(), smaller)) >= kCrumb * wanted) return false;
  std::vector<int> crumbs = items;
  std::sort(crumbs.begin(), crumbs.end(), smaller);
  bool gave = false;
  while (state.room(donor) < 0 && !crumbs.empty() && cost(crumbs.back()) <= state.room(receiver)) {
    state.give(crumbs.back(), state.item(crumbs.back()).piece, receiver);
    crumbs.pop_back();
    gave = true;
  }
  return gave;
}

/// What levels two servers: no more than the donor's surplus is wanted, and less than would load
/// the receiver as much as the donor was.
Amount levelling(const CadState& state, Rank donor, Rank receiver) {
  const double from = state.request().cluster.speed(donor);
  const double to = state.request().cluster.speed(receiver);
  if (to <= 0) return {};
  const double level = (state.load(donor) * to - state.load(receiver) * from) / (from + to);
  const double most = state.load(donor) * to / from - state.load(receiver);
  constexpr double kStrictly = 1 - 1e-9;  // the maximum must fall, or the loop would not end
  return {std::min(level, -state.room(donor)), most * kStrictly};
}

/// The server that is done first with this much more work. Not one of speed 0.
Rank soonest_done(const CadState& state, double more) {
  Rank best = 0;
  const auto done = [&](Rank s) {
    return (state.load(s) + more) / state.request().cluster.speed(s);
  };
  const auto computes = [&](Rank s) { return state.request().cluster.speed(s) > 0; };
  for (Rank s = 1; s < state.servers(); ++s) {
    if (computes(s) && (!computes(best) || done(s) < done(best))) best = s;
  }
  return best;
}

/// What servers of speed 0 still have goes whole to others, whatever that makes of their caps.
void empty_idle_servers(CadState& state) {
  for (Rank s = 0; s < state.servers(); ++s) {
    while (state.request().cluster.speed(s) <= 0 && !state.items_of(s).empty()) {
      const auto& items = state.items_of(s);
      const int id = *std::max_element(items.begin(), items.end(), [&](int a, int b) {
        return std::pair(state.item(a).cost, b) < std::pair(state.item(b).cost, a);
      });
      state.give(id, state.item(id).piece, soonest_done(state, state.item(id).cost));
    }
  }
}

/// One step of levelling; false where the most loaded server is under its cap or nothing lowers it.
bool level_most_loaded(CadState& state, MoveFinder& finder) {
  Rank donor = 0;
  for (Rank s = 1; s < state.servers(); ++s) {
    if (state.time(s) >= state.time(donor)) donor = s;
  }
  const Rank idlest = soonest_done(state, 0);
  if (state.room(donor) >= 0) return false;
  for (const Rank receiver : {state.rooms().most().second, idlest}) {
    const Amount amount = levelling(state, donor, receiver);
    if (receiver == donor || amount.wanted <= 0) continue;
    if (const auto move = finder.best_move_to(donor, receiver, amount)) {
      state.give(move->item, move->box, move->receiver);
      return true;
    }
  }
  return false;
}

}  // namespace

bool bring_under_caps(CadState& state, MoveFinder& finder) {
  const int64_t limit = move_limit(state);
  size_t next = 0;  // nothing of the servers before it fits anywhere
  for (int64_t i = 0; i < limit && next < state.rooms().size(); ++i) {
    const auto [room, donor] = state.rooms()[next];
    if (room >= 0) break;
    if (give_crumbs(state, donor)) continue;
    const std::optional<Move> move = finder.best_move(donor);
    if (move) {
      state.give(move->item, move->box, move->receiver);
    } else {
      ++next;
    }
  }
  return state.rooms().least().first >= 0;
}

void level_loads(CadState& state, MoveFinder& finder) {
  empty_idle_servers(state);
  int64_t limit = move_limit(state);
  while (limit-- > 0 && level_most_loaded(state, finder)) {
  }
}

}  // namespace cadenza
