#include "planner/strategies/cad/limited.h"

#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "base/error.h"
#include "planner/merge_tasks.h"
#include "planner/strategies/cad/improve.h"
#include "planner/strategies/cad/receive.h"
#include "planner/strategies/cad/repair.h"
#include "planner/strategies/cad/search.h"
#include "planner/strategies/cad/shed.h"
#include "planner/strategies/cad/start.h"

namespace cadenza {
namespace {

/// Evaluations of moves that the starts and the search may take: two to three milliseconds for up
/// to 64 servers, and in proportion for more, so that planning stays linear. What many documents
/// take to set up is taken off.
int64_t search_work(const CadState& state) {
  constexpr int64_t kWork = 4000, kFewDocuments = 10000, kPerDocument = 3;
  const int64_t servers = kWork * state.servers() / 64;
  return servers + std::max(kWork, kFewDocuments - kPerDocument * state.documents());
}

/// Near a limit it takes a search to use the last room: so many times the usual one, because a
/// refusal is worth more time than a per cent of bytes.
constexpr int64_t kLimitedWork = 4;

/// The part of the bytes that may be spent on a lower largest receive: it costs time where one
/// server's exchange is longest, which bytes of the whole plan do not show.
constexpr double kMoreForReceive = 0.001;

double longest_time(const CadState& state) {
  double longest = 0;
  for (Rank s = 0; s < state.servers(); ++s) {
    longest = std::max(longest, state.time(s));
  }
  return longest;
}

/// Evaluations of `Effort::kThorough`: about a tenth of a second for each server, and no more than
/// for 128.
int64_t thorough_work(const CadState& state) {
  constexpr int64_t kWork = 1'000'000, kServers = 128;
  return kWork * std::min<int64_t>(state.servers(), kServers);
}

void join_neighbours(CadState& state) {
  const std::vector<Task> tasks = state.tasks();
  const std::vector<Task> merged = merge_tasks(tasks);
  if (merged.size() < tasks.size()) state.assign(merged);
}

/// By a profile the parts of a cut cost more or less than the whole, and so do neighbours that are
/// joined: caps follow what all work costs after the moves, until no server is above them.
void follow_total(CadState& state) {
  if (state.counts_pairs()) return;
  constexpr int kMostRounds = 6;
  MoveFinder finder(state);
  for (int round = 0; round < kMostRounds; ++round) {
    join_neighbours(state);
    state.refresh_caps();
    state.forget();
    if (state.rooms().least().first >= 0) return;
    if (!bring_under_caps(state, finder)) level_loads(state, finder);
  }
  join_neighbours(state);
}

/// The search's best plan, and never a less even one. If a tile is too coarse for the caps, the
/// search keeps to how even the plan is that it begins with.
void search_thoroughly(CadState& state) {
  const double longest = longest_time(state);
  const bool above = state.rooms().least().first < 0;
  const std::vector<Task> before = state.tasks();
  if (above) state.raise_caps(longest);
  state.assign(search(state, {.work = thorough_work(state)}));
  state.forget();
  if (above) {
    state.refresh_caps();
  } else {
    follow_total(state);
  }
  if (longest_time(state) > std::max(longest, state.cap_per_speed())) state.assign(before);
  lower_largest_receive(state, kMoreForReceive / 2);
}

CadTasks result(CadState& state) {
  follow_total(state);
  if (state.request().options.effort == Effort::kThorough) search_thoroughly(state);
  CadTasks result{.tasks = state.tasks(),
                  .bytes = state.bytes(),
                  .time_over_cap = longest_time(state) / state.cap_per_speed(),
                  .longest_time = longest_time(state)};
  for (Rank s = 0; s < state.servers(); ++s)
    result.most_received = std::max(result.most_received, state.use(s).recv);
  return result;
}

void plan_by_pairs(CadState& state) {
  const int64_t budget = search_work(state);
  const Start start = best_start(state, budget);
  if (!start.even) {
    MoveFinder finder(state);
    level_loads(state, finder);
  } else if (start.work < budget) {
    improve(state, {.work = budget - start.work});
  }
  lower_largest_receive(state, kMoreForReceive);
}

/// Without limits: always succeeds. An evaluation by a profile takes ten times as long as one by
/// pairs, and time is nearly proportional to pairs: so the plan is made by pairs, and what that
/// leaves above the caps by the profile is moved then.
void plan_freely(CadState& state) {
  if (state.counts_pairs()) return plan_by_pairs(state);
  const PairsCostModel pairs;
  PlanRequest request = state.request();
  request.cost = &pairs;
  CadState by_pairs(request, state.batch());
  plan_by_pairs(by_pairs);
  state.assign(merge_tasks(by_pairs.tasks()));
  state.refresh_caps();
  state.forget();
  MoveFinder finder(state);
  if (!bring_under_caps(state, finder)) level_loads(state, finder);
}

class LimitedPlanner {
 public:
  LimitedPlanner(const PlanRequest& request, const Batch& batch)
      : request_(request), batch_(batch), free_(request, batch) {
    plan_freely(free_);
    for (Rank s = 0; s < free_.servers(); ++s) {
      most_.recv = std::max(most_.recv, free_.use(s).recv);
      most_.kv = std::max(most_.kv, free_.use(s).kv);
    }
  }

  CadTasks tasks(ReceiveLimits limits) const {
    if (limits.allow(most_)) {
      CadState state(request_, batch_, limits);
      state.assign(free_.tasks());
      return result(state);
    }
    CadState state(request_, batch_, limits);
    if (!succeeds(state)) refuse(limits);
    if (state.rooms().least().first >= 0) improve(state, {.work = search_work(state)});
    return result(state);
  }

 private:
  /// Within the limits, and as even as without them.
  bool succeeds(CadState& state) const {
    MoveFinder finder(state);
    if (!shed_above_limits(state)) return false;
    if (!bring_under_caps(state, finder)) {
      improve(state, {.work = kLimitedWork * search_work(state), .until_feasible = true});
    }
    if (state.rooms().least().first < 0) level_loads(state, finder);
    return state.over_limits() == 0 &&
           (state.rooms().least().first >= 0 || longest_time(state) <= longest_time(free_));
  }

  bool feasible(ReceiveLimits limits) const {
    if (limits.allow(most_)) return true;
    CadState state(request_, batch_, limits);
    return succeeds(state);
  }

  /// The smallest value of one limit above `low`, where planning fails, and up to `high`, where it
  /// succeeds.
  double smallest(ReceiveLimits limits, double ReceiveLimits::*which, double high) const {
    auto low = static_cast<int64_t>(limits.*which);
    auto up = static_cast<int64_t>(high);
    while (up - low > 1) {
      const int64_t middle = low + (up - low) / 2;
      limits.*which = static_cast<double>(middle);
      (feasible(limits) ? up : low) = middle;
    }
    return static_cast<double>(up);
  }

  [[noreturn]] void refuse(ReceiveLimits limits) const {
    const ReceiveLimits none;
    const ReceiveLimits only_kv{none.recv, limits.kv}, only_recv{limits.recv, none.kv};
    std::string what;
    if (feasible(only_kv)) {
      what = named("max_recv_bytes", limits.recv,
                   smallest(limits, &ReceiveLimits::recv, recv_bound(limits)));
    } else if (feasible(only_recv)) {
      what = named("max_extra_kv_bytes", limits.kv,
                   smallest(limits, &ReceiveLimits::kv, kv_bound(limits)));
    } else {
      ReceiveLimits both = only_kv;
      both.kv = smallest(only_kv, &ReceiveLimits::kv, most_.kv);
      both.recv = limits.recv;
      const double recv =
          feasible(both) ? limits.recv : smallest(both, &ReceiveLimits::recv, recv_bound(both));
      what = cat(named("max_extra_kv_bytes", limits.kv, both.kv), "; ",
                 named("max_recv_bytes", limits.recv, recv));
    }
    throw PlanError(cat("[planner] ", what, "; raise the limit or the tolerance"));
  }

  static std::string named(const char* option, double got, double expected) {
    return cat("expected ", option, " >= ", static_cast<int64_t>(expected), ", got ",
               static_cast<int64_t>(got));
  }

  /// A limit on Q + K + V with which planning succeeds beside the limit on K + V, above the one
  /// that failed: what the plan without it receives. A limit may be felt before it binds (a server
  /// gives away again what it received), so this may still fail; then twice as much.
  double recv_bound(ReceiveLimits limits) const {
    const double failed = limits.recv;
    limits.recv = std::numeric_limits<double>::infinity();
    CadState state(request_, batch_, limits);
    succeeds(state);
    double most = failed + 1;
    for (Rank s = 0; s < state.servers(); ++s) most = std::max(most, state.use(s).recv);
    for (limits.recv = most; !feasible(limits);) limits.recv *= 2;
    return limits.recv;
  }

  /// A limit on K + V that cannot bind beside the limit on Q + K + V.
  double kv_bound(ReceiveLimits limits) const {
    return std::isfinite(limits.recv) ? limits.recv : most_.kv;
  }

  const PlanRequest& request_;
  const Batch& batch_;
  CadState free_;
  CellUse most_;  // largest of any server in the free plan
};

ReceiveLimits limits_of(const PlanOptions& options) {
  ReceiveLimits limits;
  if (options.max_recv_bytes) limits.recv = static_cast<double>(*options.max_recv_bytes);
  if (options.max_extra_kv_bytes) limits.kv = static_cast<double>(*options.max_extra_kv_bytes);
  return limits;
}

}  // namespace

CadTasks cad_tasks(const PlanRequest& request, const Batch& batch) {
  const ReceiveLimits limits = limits_of(request.options);
  if (limits.any()) return LimitedPlanner(request, batch).tasks(limits);
  CadState state(request, batch);
  plan_freely(state);
  return result(state);
}

}  // namespace cadenza
