#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"
#include "step/segments.h"

namespace cadenza {

/// The rows of one rank, in the order of its home layout: ids, positions inside the document (also
/// in shards that start inside it), and as target the next token of the same document. `documents`
/// are the batch's tokens, whole.
RankTokens rank_tokens(const Batch& batch, const std::vector<std::vector<int32_t>>& documents,
                       Rank rank);

/// The document and position of a rank's row.
struct RowPlace {
  int document = 0;
  int64_t position = 0;
};
RowPlace place_of_row(const Batch& batch, Rank rank, int64_t row);

}  // namespace cadenza
