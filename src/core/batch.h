#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/mask.h"
#include "core/range.h"

namespace cadenza {

/// Most tokens of a batch: its pairs then stay below 2^62, and sums of them inside 64 bits.
constexpr int64_t kMaxTokens = int64_t{1} << 31;

/// A contiguous token range of one document that lives on one rank, its home.
struct Shard {
  Range rows;  // document coordinates
  Rank home = 0;

  bool operator==(const Shard&) const = default;
};

/// A token sequence that attends only within itself.
struct Document {
  int64_t length = 0;  // >= 1
  Mask mask;
  std::vector<Shard> shards;  // tile [0, length) in order; empty until homes are given
  Range queries;       // the rows that the plan covers: {0, length} unless nano-batches split it
  int nano_batch = 0;  // 0 or 1

  bool operator==(const Document&) const = default;
};

/// Documents of one micro-batch with their homes, or of one nano-batch: then a document's `queries`
/// say which of its rows belong to it. The rows of a rank are its shards inside the queries,
/// ordered by (document, begin).
struct Batch {
  int homes = 1;  // ranks 0 .. homes - 1 hold tokens
  std::vector<Document> documents;

  bool operator==(const Batch&) const = default;
};

/// One shard, as far as it belongs to the batch, as its home holds it.
struct LocalShard {
  int document = 0;       // index into Batch::documents
  Range rows;             // document coordinates
  int64_t first_row = 0;  // row of rows.begin in the home's buffers
};

/// A rank's rows in order. Ranks >= batch.homes hold none.
std::vector<LocalShard> local_shards(const Batch& batch, Rank rank);

/// Number of the batch's tokens whose home is `rank`.
int64_t local_rows(const Batch& batch, Rank rank);

/// Documents of these lengths, causal, without homes, queries = all rows. DataError on a length < 1
/// or a sum over kMaxTokens.
std::vector<Document> documents_of_lengths(const std::vector<int64_t>& lengths);

/// Homes by sequential fill: documents in order, tokens_per_rank on each rank, a document that does
/// not fit goes on on the next rank. ConfigError (with the number that would do) when the batch
/// does not fit.
Batch fill_sequentially(std::vector<Document> documents, int ranks, int64_t tokens_per_rank);

/// Homes in the same order, but every rank holds the same number of tokens, one more or less:
/// `tokens_per_rank` is room, not a number to fill up to. What is not attention takes as long as a
/// rank has tokens, so a batch that is not full is shared, too. ConfigError as above.
Batch fill_evenly(std::vector<Document> documents, int ranks, int64_t tokens_per_rank);

/// All pairs that the masks allow, over the documents' `queries`.
int64_t count_pairs(const Batch& batch);

/// Throws DataError naming document and range unless lengths and queries make sense, every
/// document's shards tile it (none of them empty) and homes exist.
void check_batch(const Batch& batch);

}  // namespace cadenza
