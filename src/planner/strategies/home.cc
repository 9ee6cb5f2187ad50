#include "planner/strategies/home.h"

#include "planner/home_tasks.h"
#include "planner/request_batch.h"

namespace cadenza {

Plan plan_home(const PlanRequest& request) {
  Plan plan{.strategy = "home",
            .servers = request.cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  plan.tasks = home_tasks(plan.batch);
  return plan;
}

}  // namespace cadenza
