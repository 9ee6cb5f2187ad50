#include "planner/strategies/per_document_cp.h"

#include "planner/even_shares.h"
#include "planner/home_tasks.h"
#include "planner/place_head_tail.h"
#include "planner/placing_strategy.h"

namespace cadenza {

Plan plan_per_document_cp(const PlanRequest& request) {
  constexpr const char* kName = "per_document_cp";
  Plan plan{.strategy = kName,
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, kName),
            .tasks = {}};
  check_even_capacity(plan.batch, request, kName);
  int64_t dealt = 0;  // so that what does not divide goes to all ranks in turn
  for (Document& document : plan.batch.documents) {
    document.shards =
        place_head_tail(document.length, even_shares(document.length, plan.batch.homes, dealt));
    dealt += document.length;
  }
  plan.tasks = home_tasks(plan.batch);
  return plan;
}

}  // namespace cadenza
