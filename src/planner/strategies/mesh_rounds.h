#pragma once

#include <vector>

#include "planner/strategy.h"

namespace cadenza {

/// In which round a server has the i-th chunk of queries and the i-th of keys of its tile, counted
/// from its own, which it has in round 0. A chunk a round; next always the kind that unlocks most
/// chunk pairs with what is there already, keys where both unlock as many.
struct MeshRounds {
  std::vector<int> q, kv;

  explicit MeshRounds(MeshShape shape);
};

}  // namespace cadenza
