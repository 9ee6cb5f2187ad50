#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace cadenza {

/// What happens to a document that does not fit into what is left of a batch.
enum class Overflow {
  kCarry,     // goes to the next batch whole; one longer than a batch is cut, the rest is carried, positions restart
  kFragment,  // is cut where the batch ends, the rest begins the next batch, positions restart
  kDrop,      // is left out and counted
  kError,     // DataError naming the document
};

struct BatchStreamOptions {
  int64_t tokens_per_batch = 0;  // ranks × tokens_per_rank
  Overflow overflow = Overflow::kCarry;
  uint64_t seed = 0;
};

/// The documents of one micro-batch; every token of it belongs to a document, there is no padding.
struct TokenBatch {
  std::vector<std::vector<int32_t>> documents;  // none is empty
  std::vector<std::string> names;               // where each came from, for messages
  int64_t tokens() const;
  int64_t targets() const;  // sum of (length - 1): no target across a document's end
};

/// Counts since the start, for the log.
struct OverflowCounts {
  int64_t carried = 0, cut = 0, dropped = 0;
};

/// An endless stream of batches: epoch e walks the corpus in an order drawn from (seed, e), each document once.
/// The same options give the same stream on every rank.
class BatchStream {
 public:
  BatchStream(const Corpus& corpus, const BatchStreamOptions& options);

  /// Never empty. DataError when a whole epoch yields no batch (every document dropped).
  TokenBatch next();
  int64_t epoch() const { return epoch_; }
  const OverflowCounts& overflow() const { return counts_; }

 private:
  struct Waiting {
    std::vector<int32_t> tokens;
    std::string name;
  };
  Waiting take_document();

  const Corpus& corpus_;
  BatchStreamOptions options_;
  std::vector<size_t> order_;
  size_t cursor_ = 0;
  int64_t epoch_ = -1;
  std::deque<Waiting> waiting_;
  OverflowCounts counts_;
};

}  // namespace cadenza
