#include "planner/strategies/ulysses.h"

#include "planner/group_homes.h"
#include "planner/home_tasks.h"
#include "planner/request_batch.h"
#include "planner/split_heads.h"

namespace cadenza {

Plan plan_ulysses(const PlanRequest& request) {
  Plan plan{.strategy = "ulysses",
            .servers = request.cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  const ServerSpan all{0, plan.servers};
  for (const Task& task : home_tasks(group_homes(plan.batch, 1, [](Rank) { return 0; })))
    split_heads(task, all, request.shape, plan.tasks);
  return plan;
}

}  // namespace cadenza
