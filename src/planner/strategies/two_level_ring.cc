#include "planner/strategies/two_level_ring.h"

#include <algorithm>

#include "planner/home_tasks.h"
#include "planner/key_homes.h"
#include "planner/nodes.h"
#include "planner/pass_on.h"
#include "planner/place_zigzag.h"
#include "planner/placing_strategy.h"

namespace cadenza {
namespace {

/// When the shard of each rank is where. Nodes I and J of m_I and m_J ranks: at outer step
/// (I - J) mod nodes, shard k of J enters I at place k mod m_I and moves on by one place each inner
/// step; where m_J > m_I, the next m_I shards of J follow when these are round.
class Timetable {
 public:
  explicit Timetable(const Cluster& cluster) : cluster_(cluster), nodes_(node_count(cluster)) {
    const int most = servers_of_node(cluster, 0).count;  // only the last node may have fewer
    const int least = servers_of_node(cluster, nodes_ - 1).count;
    inner_steps_ = std::max(most, (most + least - 1) / least * least);
  }

  int round(Rank server, Rank key_home) const {
    const ServerSpan here = servers_of_node(cluster_, cluster_.node_of(server));
    const int outer = cluster_.node_of(server) - cluster_.node_of(key_home) + nodes_;
    const int shard =
        key_home - servers_of_node(cluster_, cluster_.node_of(key_home)).first;  // in its node
    const int moved = (server - here.first - shard % here.count + here.count) % here.count;
    return outer % nodes_ * inner_steps_ + shard / here.count * here.count + moved;
  }

 private:
  const Cluster cluster_;
  const int nodes_;
  int inner_steps_;  // until the shards of any node are round in any other
};

}  // namespace

Plan plan_two_level_ring(const PlanRequest& request) {
  constexpr const char* kName = "two_level_ring";
  check_nodes(request.cluster, kName, "ring");
  Plan plan{.strategy = kName,
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, kName),
            .tasks = {}};
  check_even_capacity(plan.batch, request, kName);
  place_zigzag(plan.batch);
  Cluster ring = request.cluster;  // of the ranks that hold tokens
  ring.servers = plan.batch.homes;
  const Timetable timetable(ring);
  std::vector<RingTask> tasks;
  for (KeyedTask& keyed : cut_at_key_homes(plan.batch, home_tasks(plan.batch))) {
    keyed.task.round = timetable.round(keyed.task.server, keyed.key_home);
    tasks.push_back({.keyed = keyed, .circle = ring.node_of(keyed.task.server)});
  }
  plan.tasks = pass_on(std::move(tasks));
  return plan;
}

}  // namespace cadenza
