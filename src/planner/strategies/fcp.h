#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Flexible context parallelism (DHP / FCP, arXiv 2602.21788): the ranks are cut anew for each
/// micro-batch into groups of any size, not only powers of two.
///
///   1. Documents are packed into atomic groups that fit the capacity, best fit decreasing; one
///      longer than the capacity makes a group that needs several ranks (fcp_groups.h).
///   2. Dynamic programming over (groups, ranks) gives each group the number of neighbouring ranks
///      for the least makespan (fcp_degrees.h), a group's work being spread evenly over its ranks.
///   3. Each document of a group lies as head and tail pieces on all its ranks. The few documents
///      for which no group had room and no rank was left are cut over the ranks that have room.
///
/// The original's cost adds the time of its ring; here keys travel in one round and the cost is
/// `cost` alone.
///
/// Requires: no homes. Tokens a rank: options.capacity. Speeds: a group's ranks are counted by
///           their speeds.
/// Throws:   NotApplicable where homes are given, NeedsCapacity where the ranks cannot hold all.
/// Cost:     one round of keys; a group on d ranks moves d - 1 times its KV rows at most.
/// Not for:  a large capacity with many short documents: they are cut where wlb would keep them
///           whole.
Plan plan_fcp(const PlanRequest& request);

}  // namespace cadenza
