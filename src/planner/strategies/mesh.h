#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Mesh-Attention: of the n × n pairs of a chunk of queries and a chunk of keys, a server computes
/// a tile of a × b, a · b = n. It fetches a - 1 chunks of queries and b - 1 chunks of keys, instead
/// of n - 1 chunks of keys as on a ring, and returns a - 1 partial results. Chunks are the zigzag
/// pairs of `ring`, so any tile is balanced under one causal mask, and blind to documents as there.
/// Rows come straight from their homes, one chunk a round. options.mesh gives a and b: their
/// product must be the number of homes, else NotApplicable; by default the shape that moves fewest
/// bytes, which is found by counting them for every a that divides n. {1, n} is the assignment of
/// `ring`.
Plan plan_mesh(const PlanRequest& request);

}  // namespace cadenza
