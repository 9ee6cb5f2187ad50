#include "planner/strategies/packed.h"

#include "planner/best_fit.h"
#include "planner/home_tasks.h"
#include "planner/least_capacity.h"
#include "planner/placing_strategy.h"

namespace cadenza {
namespace {

int64_t capacity_that_would_do(const Batch& batch, const std::vector<int>& order) {
  return least_capacity(sure_capacity(batch.documents, batch.homes), [&](int64_t capacity) {
    return pack_best_fit(batch.documents, order, batch.homes, capacity).has_value();
  });
}

}  // namespace

Plan plan_packed(const PlanRequest& request) {
  Plan plan{.strategy = "packed",
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, "packed"),
            .tasks = {}};
  std::vector<Document>& documents = plan.batch.documents;
  const std::vector<int> order = longest_first(documents);
  const auto ranks = pack_best_fit(documents, order, plan.batch.homes, capacity_of(request));
  if (!ranks) check_capacity(capacity_that_would_do(plan.batch, order), request, "packed");
  for (size_t i = 0; i < order.size(); ++i) {
    Document& document = documents[static_cast<size_t>(order[i])];
    document.shards = {{{0, document.length}, (*ranks)[i]}};
  }
  plan.tasks = home_tasks(plan.batch);
  return plan;
}

}  // namespace cadenza
