#include "planner/strategies/cad.h"

#include <algorithm>

#include "planner/merge_tasks.h"
#include "planner/request_batch.h"
#include "planner/strategies/cad_improve.h"
#include "planner/strategies/cad_long.h"
#include "planner/strategies/cad_repair.h"

namespace cadenza {
namespace {

// Moving E pairs as one rectangle of x query rows and y key rows costs x·(Q + O) + y·(K + V) bytes,
// at best about sqrt(E): two moves of half the size cost 1.41 times as much. So, as in the
// transport problem whose optimum matches the largest surplus with the largest room:
//
//   1. long documents, which live on several servers, are laid out as wholes (cad_long.h);
//   2. the server with the largest surplus over its cap gives min(surplus, room) at once, in the
//      cut and to the receiver that add least bytes (cad_moves.h); again, until no server is above
//      its cap or no cut fits;
//   3. a short search clears what a few servers do for others, and fills the gap another way
//      (cad_improve.h);
//   4. where the tile of cuts is too coarse for the cap (small batches), the most loaded server
//      gives what best levels it with the least loaded one, as long as that lowers the larger of
//      the two;
//   5. neighbouring tasks of a server are joined.
//
// Every move takes O(log n) time and a constant number of cuts; there are about as many moves as
// servers, and one for each short document that moves.

/// Evaluations that the search may take: about a millisecond for up to 64 servers, and in
/// proportion for more, so that planning stays linear.
int64_t search_work(const CadState& state) {
  constexpr int64_t kWork = 4000, kServers = 64;
  return kWork * std::max<int64_t>(kServers, state.servers()) / kServers + 2 * state.documents();
}

}  // namespace

Plan plan_cad(const PlanRequest& request) {
  Plan plan{.strategy = "cad",
            .servers = request.cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  CadState state(request, plan.batch);
  MoveFinder finder(state);
  spread_long_documents(state);
  if (bring_under_caps(state, finder)) {
    improve(state, {.work = search_work(state)});
  } else {
    level_loads(state, finder);
  }
  plan.tasks = merge_tasks(state.tasks());
  return plan;
}

}  // namespace cadenza
