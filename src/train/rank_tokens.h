#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"
#include "data/token_source.h"
#include "step/segments.h"

namespace cadenza {

/// Reads the rows of one rank, in the order of its home layout, and nothing else: ids, positions
/// inside the document (also in shards that start inside it), and as target the next token of the
/// same document, if it is one to learn. `handles`: the documents of the plan's batch, in its
/// order.
RankTokens read_rank_tokens(const TokenSource& source, const std::vector<DocumentHandle>& handles,
                            const Batch& batch, Rank rank);

/// The document and position of a rank's row.
struct RowPlace {
  int document = 0;
  int64_t position = 0;
};
RowPlace place_of_row(const Batch& batch, Rank rank, int64_t row);

}  // namespace cadenza
