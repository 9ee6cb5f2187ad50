#include "planner/nodes.h"

#include <algorithm>

#include "base/cat.h"
#include "planner/strategy.h"

namespace cadenza {

void check_nodes(const Cluster& cluster, const char* strategy, const char* instead) {
  if (cluster.servers_per_node > 0) return;
  throw NotApplicable(cat("[", strategy, "] expected the number of servers in a node, got none; ",
                          "set servers per node (", cluster.servers,
                          " where all share one), or use ", instead));
}

int node_count(const Cluster& cluster) { return cluster.node_of(cluster.servers - 1) + 1; }

ServerSpan servers_of_node(const Cluster& cluster, int node) {
  if (cluster.servers_per_node == 0) return {0, cluster.servers};
  const Rank first = node * cluster.servers_per_node;
  return {first, std::min(cluster.servers_per_node, cluster.servers - first)};
}

}  // namespace cadenza
