#pragma once

#include "core/cluster.h"
#include "planner/split_heads.h"

namespace cadenza {

/// NotApplicable where the cluster does not say which servers share a node, for a strategy that
/// treats links inside and between nodes differently. `instead`: what needs no nodes.
void check_nodes(const Cluster& cluster, const char* strategy, const char* instead);

int node_count(const Cluster& cluster);

/// The last node may be smaller than the others.
ServerSpan servers_of_node(const Cluster& cluster, int node);

}  // namespace cadenza
