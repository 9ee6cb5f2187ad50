#pragma once

#include <cstdint>
#include <vector>

#include "core/range.h"

namespace cadenza {

/// A set of integers as disjoint ranges in order. Small: every operation is linear in the number of
/// ranges.
class RangeSet {
 public:
  void add(Range range);
  void remove(Range range);
  /// How many integers of `range` are not in the set.
  int64_t missing(Range range) const;
  int64_t size() const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

}  // namespace cadenza
