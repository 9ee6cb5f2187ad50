#pragma once

#include <vector>

#include "core/plan.h"

namespace cadenza {

/// Rows of one document × heads that a server reads.
struct NeededRows {
  int document = 0;
  Range rows;   // document coordinates
  Range heads;  // of query heads for Q, of kv heads for K and V; never empty

  bool operator==(const NeededRows&) const = default;
};

/// What one server's tasks read: disjoint (rows × heads) rectangles ordered by (document,
/// heads.begin, rows.begin), each row × head once however many tasks read it, rows without an
/// allowed pair left out. Adjacent head ranges that need the same rows are one rectangle.
struct ServerNeeds {
  std::vector<NeededRows> q;
  std::vector<NeededRows> kv;
};

/// One entry per server, in the order of ranks. O(n log n) in tasks.
std::vector<ServerNeeds> needed_rows(const Plan& plan, int64_t heads, int64_t kv_heads);

}  // namespace cadenza
