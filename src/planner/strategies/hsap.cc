#include "planner/strategies/hsap.h"

#include "planner/group_homes.h"
#include "planner/nodes.h"
#include "planner/request_batch.h"
#include "planner/split_heads.h"
#include "planner/strategies/sap.h"

namespace cadenza {

Plan plan_hsap(const PlanRequest& request) {
  const Cluster& cluster = request.cluster;
  check_nodes(cluster, "hsap", "sap or ulysses");
  Plan plan{.strategy = "hsap",
            .servers = cluster.servers,
            .batch = batch_of_request(request),
            .tasks = {}};
  const auto node_of = [&](Rank rank) { return cluster.node_of(rank); };
  for (const Task& task : sap_tasks(group_homes(plan.batch, node_count(cluster), node_of))) {
    split_heads(task, servers_of_node(cluster, task.server), request.shape, plan.tasks);
  }
  return plan;
}

}  // namespace cadenza
