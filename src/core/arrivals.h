#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace cadenza {

/// Rows of one document × heads that a server gets, each row and head once, in the first round in
/// which one of its tasks reads it.
struct Arrival {
  int document = 0;
  Range rows;     // document coordinates
  Range heads;    // of query heads for Q, of kv heads for K and V
  int round = 0;  // of the task that reads them first
  Rank from = 0;  // their home, or the server that passes them on

  bool operator==(const Arrival&) const = default;
};

/// What a server gets in one layer's forward, its own rows left out; ordered by (round, document,
/// heads, rows).
struct ServerArrivals {
  std::vector<Arrival> q;
  std::vector<Arrival> kv;
};

/// True where some task names a round or a relay: its rows then do not all come from their homes
/// before the first task starts.
bool moves_in_rounds(const Plan& plan);

/// One entry per server. A row that several tasks of a server read comes the way that the first of
/// them says, by (round, task id); `via` of the later ones does not matter for it. PlanError naming
/// document, rows, server and round where a relay does not hold the rows since an earlier round, or
/// (a home always does) as their home. O(n log n) in tasks × distinct head ranges of a document.
std::vector<ServerArrivals> arrivals_of(const Plan& plan, int64_t heads, int64_t kv_heads);

}  // namespace cadenza
