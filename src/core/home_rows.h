#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// Answers how many rows of a range of one document live at a home, in O(log shards), however the
/// document is scattered.
class HomeRows {
 public:
  explicit HomeRows(std::vector<Shard> shards);

  int64_t count(Range rows, Rank home) const;

 private:
  /// Rows of all homes below `home`, and of `home` below `row`: count() wants differences of it.
  int64_t count_below(int64_t row, Rank home) const;

  std::vector<Shard> shards_;         // ordered by (home, begin)
  std::vector<int64_t> rows_before_;  // rows of the shards before each of them
};

}  // namespace cadenza
