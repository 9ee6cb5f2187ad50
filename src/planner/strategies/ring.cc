#include "planner/strategies/ring.h"

#include "planner/home_tasks.h"
#include "planner/key_homes.h"
#include "planner/pass_on.h"
#include "planner/place_zigzag.h"
#include "planner/placing_strategy.h"

namespace cadenza {

Plan plan_ring(const PlanRequest& request) {
  Plan plan{.strategy = "ring",
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, "ring"),
            .tasks = {}};
  check_even_capacity(plan.batch, request, "ring");
  place_zigzag(plan.batch);
  const int ranks = plan.batch.homes;
  std::vector<RingTask> tasks;
  for (KeyedTask& keyed : cut_at_key_homes(plan.batch, home_tasks(plan.batch))) {
    keyed.task.round = (keyed.task.server - keyed.key_home + ranks) % ranks;
    tasks.push_back({.keyed = keyed, .circle = 0});
  }
  plan.tasks = pass_on(std::move(tasks));
  return plan;
}

}  // namespace cadenza
