#include "planner/strategies/sap.h"

#include <algorithm>

#include "planner/home_tasks.h"
#include "planner/key_homes.h"
#include "planner/request_batch.h"

namespace cadenza {

std::vector<Task> sap_tasks(const Batch& batch) {
  std::vector<KeyedTask> parts = cut_at_key_homes(batch, home_tasks(batch));
  const auto distance = [&](const KeyedTask& part) {
    return (part.task.server - part.key_home + batch.homes) % batch.homes;
  };
  // By server: the distances at which it needs keys, its own always first.
  std::vector<std::vector<int>> sources(static_cast<size_t>(batch.homes), std::vector<int>{0});
  for (const KeyedTask& part : parts)
    sources[static_cast<size_t>(part.task.server)].push_back(distance(part));
  for (std::vector<int>& distances : sources) {
    std::sort(distances.begin(), distances.end());
    distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
  }
  std::vector<Task> tasks;
  tasks.reserve(parts.size());
  for (KeyedTask& part : parts) {
    const std::vector<int>& distances = sources[static_cast<size_t>(part.task.server)];
    const auto at = std::lower_bound(distances.begin(), distances.end(), distance(part));
    part.task.round = static_cast<int>(at - distances.begin());
    tasks.push_back(part.task);
  }
  return tasks;
}

Plan plan_sap(const PlanRequest& request) {
  Plan plan{.strategy = "sap",
            .servers = request.cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  plan.tasks = sap_tasks(plan.batch);
  return plan;
}

}  // namespace cadenza
