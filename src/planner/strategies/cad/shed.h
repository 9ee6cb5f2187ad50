#pragma once

#include "planner/strategies/cad/state.h"

namespace cadenza {

/// Servers whose own work makes them fetch more than the limits allow (long documents: the queries
/// of a shard see the keys of all shards before it) give away what reads a part of the keys, all
/// of it, to servers that may take it. False where that does not succeed.
bool shed_above_limits(CadState& state);

}  // namespace cadenza
