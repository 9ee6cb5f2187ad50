#include "data/batch_stream.h"

#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"

namespace cadenza {

BatchStream::BatchStream(const TokenSource& source, const BatchStreamOptions& options)
    : source_(source),
      options_(options),
      order_(source.documents()),
      deferred_(options.tokens_per_batch, options.defer_for_ranks) {
  if (options.tokens_per_batch < 1) {
    throw ConfigError(cat("[data] expected at least one token a batch, got ",
                          options.tokens_per_batch, "; raise data.tokens_per_rank"));
  }
  cursor_ = order_.size();
  if (options.overflow != Overflow::kError) return;
  // Lengths are known from the listing: refuse before the first step, not in the middle of a run.
  for (size_t document = 0; document < source.documents(); ++document) {
    if (source.length(document) <= options.tokens_per_batch) continue;
    throw DataError(
        cat("[data] expected documents of at most ", options.tokens_per_batch,
            " tokens (one batch), got ", source.length(document), " in ", source.name(document),
            "; raise data.tokens_per_rank, or set data.overflow to carry, fragment or drop"));
  }
}

DocumentBatch BatchStream::next() {
  if (epoch_ended()) start_epoch();
  DocumentBatch batch = fill_batch();
  // Under kDrop an epoch's tail may hold only documents that are left out: the batch is the next
  // epoch's first.
  if (batch.documents.empty()) {
    start_epoch();
    batch = fill_batch();
  }
  if (batch.documents.empty()) {
    throw DataError(
        cat("[data] expected a document of at most ", options_.tokens_per_batch,
            " tokens (one batch), got only longer ones, which data.overflow = \"drop\" leaves out; "
            "raise data.tokens_per_rank or set data.overflow to carry or fragment"));
  }
  ++batches_;
  return batch;
}

void BatchStream::start_epoch() {
  ++epoch_;
  cursor_ = 0;
  // The order starts from the same place each time, so that an epoch's order depends on (seed,
  // epoch) alone.
  std::iota(order_.begin(), order_.end(), size_t{0});
  Rng rng(hash_bytes(cat(options_.seed, " ", epoch_)));
  shuffle(order_, rng);
}

DocumentBatch BatchStream::fill_batch() {
  DocumentBatch batch;
  release_group();
  while (!epoch_ended() && place(take_document(), batch)) {
  }
  return batch;
}

BatchStream::Waiting BatchStream::whole(size_t document) const {
  return {{document, {0, source_.length(document)}}, false};
}

/// Documents that have waited for each other begin a batch: together they fit into an empty one.
void BatchStream::release_group() {
  const std::vector<size_t> group = deferred_.release_group(batches_);
  for (size_t i = group.size(); i-- > 0;) waiting_.push_front(whole(group[i]));
}

/// Requires that the epoch has not ended.
BatchStream::Waiting BatchStream::take_document() {
  while (waiting_.empty()) {
    if (cursor_ == order_.size()) {
      for (const size_t index : deferred_.release_all(batches_)) waiting_.push_back(whole(index));
      break;
    }
    const size_t index = order_[cursor_++];
    const int64_t length = source_.length(index);
    if (!deferred_.defers(length)) return whole(index);
    deferred_.add(index, length, batches_);
  }
  Waiting document = std::move(waiting_.front());
  waiting_.pop_front();
  return document;
}

// Adds what fits, makes the rest wait, and tells whether the batch may take another document.
//
//   rest of the document     room      carry, drop, error      fragment
//   fits                               whole                   whole
//   fits an empty batch      > 0       waits whole             cut at the room
//   longer than a batch      a batch   cut (drop: left out)    cut
//   longer than a batch      less      waits (drop: left out)  cut at the room
bool BatchStream::place(Waiting document, DocumentBatch& batch) {
  const int64_t room = options_.tokens_per_batch - batch.tokens();
  const int64_t rest = document.rest.tokens.size();
  const bool too_long = rest > options_.tokens_per_batch;
  if (options_.overflow == Overflow::kDrop && too_long) {
    ++counts_.dropped;
    return true;
  }
  const bool cut_here = options_.overflow == Overflow::kFragment || batch.documents.empty();
  if (rest > room && !cut_here) {
    if (!document.carried) ++counts_.carried;
    document.carried = true;
    waiting_.push_front(document);
    return false;
  }
  const int64_t taken = std::min(rest, room);
  const Range tokens = document.rest.tokens;
  batch.documents.push_back({document.rest.document, {tokens.begin, tokens.begin + taken}});
  if (taken < rest) {
    ++counts_.cut;
    document.rest.tokens.begin += taken;
    waiting_.push_front(document);
  }
  return taken < room;
}

}  // namespace cadenza
