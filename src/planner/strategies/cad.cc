#include "planner/strategies/cad.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/home_tasks.h"
#include "planner/merge_tasks.h"
#include "planner/request_batch.h"
#include "planner/strategies/cad_moves.h"

namespace cadenza {
namespace {

// Moving E pairs as one rectangle of x query rows and y key rows costs x·(Q + O) + y·(K + V) bytes,
// at best about sqrt(E): two moves of half the size cost 1.41 times as much. So, as in the
// transport problem whose optimum matches the largest surplus with the largest room:
//
//   1. the server with the largest surplus over its cap gives min(surplus, room) at once, in the
//      cut and to the receiver that add least bytes (cad_moves.h); again, until no server is above
//      its cap or no cut fits;
//   2. where the tile of cuts is too coarse for the cap (small batches), the most loaded server
//      gives what best levels it with the least loaded one, as long as that lowers the larger of
//      the two;
//   3. neighbouring tasks of a server are joined.
//
// Every move takes O(log n) time and a constant number of cuts; there are about as many moves as
// servers, and one for each short document that moves.

/// Moves above which a loop gives up: far more than it takes (at most about two a server, and one
/// for each short document).
int64_t move_limit(const CadState& state, size_t tasks) {
  return 16 * (static_cast<int64_t>(state.servers()) + 4) + 2 * static_cast<int64_t>(tasks);
}

/// An item below this part of the amount is given whole without a search: hundreds of short
/// documents would otherwise each be searched, and no cut of a short document is better than a
/// whole one.
constexpr double kCrumb = 1.0 / 16;

/// Gives whole items, the largest first, to the server with most room while they are crumbs of what
/// it shall get. One receiver, because neighbouring chunks of a document then arrive as one range.
/// True where it gave any.
bool give_crumbs(CadState& state, Rank donor) {
  const auto [room, receiver] = *state.by_room().rbegin();
  const double wanted = std::min(-state.room(donor), room);
  bool gave = false;
  while (state.room(donor) < 0 && !state.items_of(donor).empty()) {
    const auto [cost, item] = *state.items_of(donor).rbegin();
    if (cost >= kCrumb * wanted || cost > state.room(receiver)) break;
    state.give(item, state.item(item).piece, receiver);
    gave = true;
  }
  return gave;
}

/// One move, or a run of crumbs; false where nothing fits anywhere.
bool give_surplus(CadState& state, Rank donor) {
  if (give_crumbs(state, donor)) return true;
  const std::optional<Move> move = best_move(state, donor);
  if (move) state.give(move->item, move->box, move->receiver);
  return move.has_value();
}

void bring_under_caps(CadState& state, int64_t limit) {
  CadState::Ordered donors;
  for (const auto& [room, server] : state.by_room()) {
    if (room < 0) donors.insert({room, server});
  }
  for (int64_t i = 0; i < limit && !donors.empty(); ++i) {
    const Rank donor = donors.begin()->second;
    donors.erase(donors.begin());
    if (give_surplus(state, donor) && state.room(donor) < 0)
      donors.insert({state.room(donor), donor});
  }
}

/// What levels two servers: no more than the donor's surplus is wanted, and less than would load
/// the receiver as much as the donor was.
Amount levelling(const CadState& state, Rank donor, Rank receiver) {
  const double from = state.request().cluster.speed(donor);
  const double to = state.request().cluster.speed(receiver);
  const double level = (state.load(donor) * to - state.load(receiver) * from) / (from + to);
  const double most = state.load(donor) * to / from - state.load(receiver);
  constexpr double kStrictly = 1 - 1e-9;  // the maximum must fall, or the loop would not end
  return {std::min(level, -state.room(donor)), most * kStrictly};
}

/// One step of levelling; false where the most loaded server is under its cap or nothing lowers it.
bool level_most_loaded(CadState& state) {
  const Rank donor = state.by_load().rbegin()->second;
  if (state.room(donor) >= 0) return false;
  for (const Rank receiver : {state.by_room().rbegin()->second, state.by_load().begin()->second}) {
    const Amount amount = levelling(state, donor, receiver);
    if (receiver == donor || amount.wanted <= 0) continue;
    if (const auto move = best_move_to(state, donor, receiver, amount)) {
      state.give(move->item, move->box, move->receiver);
      return true;
    }
  }
  return false;
}

}  // namespace

Plan plan_cad(const PlanRequest& request) {
  Plan plan{.strategy = "cad",
            .servers = request.cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  const std::vector<Task> tasks = home_tasks(plan.batch);
  CadState state(request, plan.batch, tasks);
  int64_t limit = move_limit(state, tasks.size());
  bring_under_caps(state, limit);
  while (limit-- > 0 && level_most_loaded(state)) {
  }
  plan.tasks = merge_tasks(state.tasks());
  return plan;
}

}  // namespace cadenza
