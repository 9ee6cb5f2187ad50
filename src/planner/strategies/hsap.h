#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Hierarchical sequence-aware parallelism: SAP between nodes, Ulysses inside a node. A node
/// computes the queries that live in it; its servers share them by heads, and each fetches its
/// heads of the keys from wherever in other nodes they lie. Takes homes as they are; nodes may be
/// of unequal size. NotApplicable without cluster.servers_per_node.
Plan plan_hsap(const PlanRequest& request);

}  // namespace cadenza
