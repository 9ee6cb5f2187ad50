#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// Documents by length, longest first; the earlier first where they are equally long.
std::vector<int> longest_first(const std::vector<Document>& documents);

/// Best fit decreasing: whole documents, in this order, each to the bin with the least room that
/// still takes it, the lowest number where several have. The bin of each document of `order`; none
/// where one does not fit. O(n log bins).
std::optional<std::vector<int>> pack_best_fit(const std::vector<Document>& documents,
                                              const std::vector<int>& order, int bins,
                                              int64_t capacity);

/// The capacity from which on any such packing succeeds: a document finds no bin only when all hold
/// more than capacity - longest, hence more than the mean.
int64_t sure_capacity(const std::vector<Document>& documents, int bins);

}  // namespace cadenza
