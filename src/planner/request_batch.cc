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
  for (const double speed : cluster.speeds) {
    if (!(speed > 0) || !std::isfinite(speed)) {
      throw ConfigError(cat("[planner] expected server speeds > 0, got ", speed,
                            "; leave a server out by giving fewer servers"));
    }
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

Batch batch_of_request(const PlanRequest& request) {
  check_request(request);
  if (!request.homes_given) {
    return fill_sequentially(request.documents, request.homes, request.tokens_per_rank);
  }
  Batch batch{.homes = request.homes, .documents = request.documents};
  check_batch(batch);
  return batch;
}

}  // namespace cadenza
