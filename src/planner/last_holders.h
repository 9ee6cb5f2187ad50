#pragma once

#include <vector>

#include "core/plan.h"

namespace cadenza {

/// Rows, and the server that got them last; Task::kHome where none did yet.
struct HeldRows {
  Range rows;
  Rank holder = Task::kHome;

  bool operator==(const HeldRows&) const = default;
};

/// Which server got each row of one home last. Small: every operation is linear in the stretches of
/// rows that different servers got last.
class LastHolders {
 public:
  void set(Range rows, Rank holder);
  /// Tiles `rows`, neighbours from different holders.
  std::vector<HeldRows> of(Range rows) const;

 private:
  std::vector<HeldRows> held_;  // disjoint, in order
};

}  // namespace cadenza
