#include "planner/strategies/cad.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "planner/merge_tasks.h"
#include "planner/request_batch.h"
#include "planner/strategies/cad/limited.h"
#include "planner/strategies/hdp.h"
#include "planner/strategies/wlb.h"

namespace cadenza {
namespace {

// Moving E pairs as one rectangle of x query rows and y key rows costs x·(Q + O) + y·(K + V) bytes,
// at best about sqrt(E): two moves of half the size cost 1.41 times as much. So, as in the
// transport problem whose optimum matches the largest surplus with the largest room:
//
//   1. the few rows of a document on another server than most of it go to its keys (cad/tails.h);
//   2. long documents, which live on several servers, are laid out as wholes (cad/long.h);
//   3. the server with the largest surplus over its cap gives min(surplus, room) at once, in the
//      cut and to the receiver that add least bytes (cad/moves.h); again, until no server is above
//      its cap or no cut fits;
//   4. all that several times with other weights, of which the best is kept (cad/start.h);
//   5. a short search clears what a few servers do for others, and fills the gap another way
//      (cad/improve.h);
//   6. where the tile of cuts is too coarse for the cap (small batches), the most loaded server
//      gives what best levels it with the least loaded one, as long as that lowers the larger of
//      the two;
//   7. neighbouring tasks of a server are joined.
//
// Every move takes O(log n) time and a constant number of cuts; there are about as many moves as
// servers, and one for each short document that moves.

/// The request with the homes that another strategy chooses; none where that finds no room.
std::optional<Batch> placed_by(Plan (*strategy)(const PlanRequest&), const PlanRequest& request) {
  try {
    PlanRequest fixed = request;  // homes never hold more than tokens_per_rank
    if (!fixed.options.capacity) fixed.options.capacity = request.tokens_per_rank;
    return strategy(fixed).batch;
  } catch (const NotApplicable&) {
    return std::nullopt;
  }
}

/// Placements to choose from: tokens in order, or documents by workload, whole or over ranks.
std::vector<Batch> placements(const PlanRequest& request) {
  std::vector<Batch> batches{batch_of_request(request, IdleServers::kAllowed)};
  if (request.options.placement == Placement::kFill) return batches;
  if (request.homes_given) {
    throw NotApplicable(
        "[planner] expected no homes with placement free, got homes; leave them out, or plan with "
        "placement fill");
  }
  for (const auto strategy : {plan_wlb, plan_hdp}) {
    if (auto batch = placed_by(strategy, request)) batches.push_back(std::move(*batch));
  }
  return batches;
}

/// Even within the tolerance first, then fewest bytes.
bool better(const CadTasks& a, const CadTasks& b) {
  const auto over = [](const CadTasks& tasks) { return std::max(tasks.time_over_cap, 1.0); };
  return std::pair(over(a), a.bytes) < std::pair(over(b), b.bytes);
}

/// Attention of the slowest server, forward and backward, and the longest exchange of both: the
/// backward sends as many rows as the forward.
double predicted_seconds(const CadTasks& tasks, const ExchangeCost& exchange) {
  return tasks.longest_time + 2 * exchange.seconds(tasks.most_received);
}

/// Where the cost model knows how long rows travel, the tolerance is a limit and not the aim: a
/// plan that is more even moves more. Of plans for a quarter of it again and again, the one with
/// the least sum of both.
CadTasks best_tasks(const PlanRequest& request, const Batch& batch) {
  CadTasks best = cad_tasks(request, batch);
  const ExchangeCost* exchange = request.cost->exchange();
  if (exchange == nullptr || best.time_over_cap > 1) return best;
  constexpr int kMostTries = 4;
  PlanRequest tighter = request;
  for (int i = 0; i < kMostTries; ++i) {
    tighter.tolerance /= 4;
    CadTasks tasks;
    try {
      tasks = cad_tasks(tighter, batch);
    } catch (const PlanError&) {
      break;  // not within limits
    }
    const bool lower = predicted_seconds(tasks, *exchange) < predicted_seconds(best, *exchange);
    if (tasks.longest_time > best.longest_time || !lower) break;
    tasks.time_over_cap = 1;  // of the tolerance asked for
    best = std::move(tasks);
  }
  return best;
}

}  // namespace

Plan plan_cad(const PlanRequest& request) {
  std::vector<Batch> batches = placements(request);
  std::optional<CadTasks> best;
  std::exception_ptr refused;
  size_t chosen = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    try {
      CadTasks tasks = best_tasks(request, batches[i]);
      if (best && !better(tasks, *best)) continue;
      best = std::move(tasks);
      chosen = i;
    } catch (const PlanError&) {
      if (!refused) refused = std::current_exception();  // of the first placement: tokens in order
    }
  }
  if (!best) std::rethrow_exception(refused);
  return {.strategy = "cad",
          .servers = request.cluster.servers,
          .batch = std::move(batches[chosen]),
          .tasks = merge_tasks(std::move(best->tasks))};
}

}  // namespace cadenza
