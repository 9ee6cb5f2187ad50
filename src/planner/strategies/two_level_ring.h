#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Ring attention in two levels: an outer ring of nodes, an inner ring of the servers in a node,
/// zigzag placement over all. At outer step g the shards of the node g before it enter a node, each
/// at the server in the same place, and go round inside it; so a row of keys crosses to a node
/// once, however many servers there read it, and slow links do not set the pace of every step.
/// Nodes may be of unequal size. NotApplicable without cluster.servers_per_node; with one node it
/// is `ring`. Blind to documents, as `ring` is.
Plan plan_two_level_ring(const PlanRequest& request);

}  // namespace cadenza
