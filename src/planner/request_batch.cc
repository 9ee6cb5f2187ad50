#include "planner/request_batch.h"

#include <cmath>

#include "base/check.h"

namespace cadenza {
namespace {

void check_speeds(const Cluster& cluster) {
  if (cluster.speeds.empty()) return;
  if (cluster.speeds.size() != static_cast<size_t>(cluster.servers)) {
    throw ConfigError(cat("[planner] expected one speed for each of ", cluster.servers,
                          " servers, got ", cluster.speeds.size(),
                          "; give a speed for each, or none"));
  }
  double sum = 0;
  for (const double speed : cluster.speeds) {
    if (!(speed >= 0) || !std::isfinite(speed)) {
      throw ConfigError(cat("[planner] expected server speeds >= 0, got ", speed,
                            "; 0 is of a server that holds tokens and computes none"));
    }
    sum += speed;
  }
  if (!(sum > 0)) {
    throw ConfigError(cat("[planner] expected a server with a speed > 0, got ", cluster.servers,
                          " of speed 0; give one that computes"));
  }
}

}  // namespace

void check_request(const PlanRequest& request) {
  CADENZA_CHECK(request.cost != nullptr);
  if (request.homes < 1 || request.homes > request.cluster.servers) {
    throw ConfigError(cat("[planner] expected 1 <= homes <= servers, got ", request.homes,
                          " homes and ", request.cluster.servers, " servers; give more servers"));
  }
  if (!(request.tolerance >= 0) || !std::isfinite(request.tolerance)) {
    throw ConfigError(cat("[planner] expected tolerance >= 0, got ", request.tolerance,
                          "; 0.05 allows 5 % above the mean"));
  }
  check_speeds(request.cluster);
}

void check_all_compute(const PlanRequest& request) {
  for (int s = 0; s < request.cluster.servers; ++s) {
    if (request.cluster.speed(s) > 0) continue;
    throw NotApplicable(
        cat("[planner] expected speeds > 0 of a strategy that fixes who computes "
            "what, got 0 of server ",
            s, "; plan with cad"));
  }
}

Batch batch_of_request(const PlanRequest& request, IdleServers idle) {
  check_request(request);
  if (idle == IdleServers::kRefused) check_all_compute(request);
  if (!request.homes_given) {
    return fill_sequentially(request.documents, request.homes, request.tokens_per_rank);
  }
  Batch batch{.homes = request.homes, .documents = request.documents};
  check_batch(batch);
  return batch;
}

}  // namespace cadenza
