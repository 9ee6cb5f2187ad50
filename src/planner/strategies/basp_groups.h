#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// Neighbouring ranks and the documents that they compute together.
struct BaspGroup {
  int ranks = 1;
  int64_t tokens = 0;
  std::vector<int> documents;  // longest first

  /// Of its fullest rank.
  int64_t tokens_per_rank() const { return (tokens + ranks - 1) / ranks; }
};

/// Groups of `ranks` ranks in all, at the smallest capacity at which there are enough: no rank
/// holds more. Groups of several ranks come first. Time O(n log n + n log ranks × log tokens).
std::vector<BaspGroup> basp_groups(const std::vector<Document>& documents, int ranks);

}  // namespace cadenza
