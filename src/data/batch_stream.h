#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "data/deferred_documents.h"
#include "data/token_source.h"

namespace cadenza {

/// What happens to a document that does not fit into what is left of a batch. Documents keep their
/// order in all of them, but for those that are deferred.
enum class Overflow {
  // Goes to the next batch whole; one longer than a batch is cut there, the rest is carried,
  // positions restart.
  kCarry,
  // Is cut where the batch ends, the rest begins the next batch, positions restart.
  kFragment,
  // Goes to the next batch whole; one longer than a batch is left out and counted.
  kDrop,
  // Goes to the next batch whole; one longer than a batch is a DataError naming it.
  kError,
};

struct BatchStreamOptions {
  int64_t tokens_per_batch = 0;  // ranks × tokens_per_rank
  Overflow overflow = Overflow::kCarry;
  uint64_t seed = 0;
  // Long documents wait for others of their length, to give this many ranks equal work
  // (DeferredDocuments); 0: none does, documents keep their order.
  int64_t defer_for_ranks = 0;
};

/// Counts since the start, for the log.
struct OverflowCounts {
  int64_t carried = 0;  // documents that went to the next batch whole
  int64_t cut = 0;      // cuts: a document in three pieces counts two
  int64_t dropped = 0;  // documents
};

/// An endless stream of batches, of lengths and handles: no token is read. Epoch e walks the
/// documents in an order drawn from (seed, e), each
/// document once, deferred ones too. No batch holds documents of two epochs, so an epoch's last
/// batch may be short; a batch is never longer than tokens_per_batch. The same options give the
/// same stream on every rank.
class BatchStream {
 public:
  /// `source` must outlive it. DataError with kError when a document is longer than a batch.
  BatchStream(const TokenSource& source, const BatchStreamOptions& options);

  /// Never empty. DataError when a whole epoch yields no batch (every document dropped).
  DocumentBatch next();
  /// The epoch of the batch that next() gave last; -1 before the first.
  int64_t epoch() const { return epoch_; }
  const OverflowCounts& overflow() const { return counts_; }
  const DeferralCounts& deferral() const { return deferred_.counts(); }

 private:
  struct Waiting {
    DocumentHandle rest;  // tokens before it are in earlier batches
    bool carried = false;
  };
  void start_epoch();
  bool epoch_ended() const {
    return waiting_.empty() && cursor_ == order_.size() && deferred_.empty();
  }
  Waiting whole(size_t document) const;
  void release_group();
  Waiting take_document();
  bool place(Waiting document, DocumentBatch& batch);
  DocumentBatch fill_batch();

  const TokenSource& source_;
  BatchStreamOptions options_;
  std::vector<size_t> order_;
  size_t cursor_ = 0;
  int64_t epoch_ = -1;
  int64_t batches_ = 0;  // filled before the one that is being filled
  std::deque<Waiting> waiting_;
  DeferredDocuments deferred_;
  OverflowCounts counts_;
};

}  // namespace cadenza
