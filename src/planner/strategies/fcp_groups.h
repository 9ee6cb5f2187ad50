#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// Documents that share their ranks.
struct AtomicGroup {
  std::vector<int> documents;  // longest first
  int64_t tokens = 0;
  int least_ranks = 1;  // that hold its tokens
};

struct AtomicGroups {
  std::vector<AtomicGroup> groups;  // their least_ranks sum to at most the ranks
  std::vector<int> left_over;       // longest first: no group had room and too few ranks were left
};

/// Best fit decreasing: each document, longest first, goes to the group with the least room that
/// holds it, else makes a group of as many ranks as it needs. `capacity` is tokens a rank, >= 1.
/// O(n log n).
AtomicGroups pack_atomic_groups(const std::vector<Document>& documents, int ranks,
                                int64_t capacity);

}  // namespace cadenza
