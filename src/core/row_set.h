#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/range.h"

namespace cadenza {

/// A growing set of rows; adding n ranges takes O(n log n) in all.
class RowSet {
 public:
  /// Adds the rows; returns those that were not there, in order.
  std::vector<Range> add(Range rows);

 private:
  std::map<int64_t, int64_t> ends_;  // by begin; disjoint, not touching
};

}  // namespace cadenza
