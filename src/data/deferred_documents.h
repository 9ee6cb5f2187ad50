#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace cadenza {

/// How long documents waited, counted in batches, since the start.
struct DeferralCounts {
  int64_t released = 0;       // documents that have waited and are out again, delay 0 included
  int64_t waiting = 0;        // documents that wait now
  int64_t delay_sum = 0;      // batches, over those released
  int64_t longest_delay = 0;  // batches
};

/// Long documents wait until there are enough alike to give every rank equal work in one batch
/// (outlier queues of WLB-LLM, arXiv 2503.17924).
///
/// With c = tokens of a rank, a document longer than c / 4 is an outlier: four such documents fill
/// a rank, and a shorter one has at most a sixteenth of the work of one that fills it, which evens
/// out. Outliers wait in queues of lengths up to c / 2, c, 2c, 4c, ...; a queue releases its oldest
/// documents when they give each rank one, or fill a batch. One that fills a batch alone never
/// waits.
class DeferredDocuments {
 public:
  /// `ranks` 0: nothing ever waits.
  DeferredDocuments(int64_t tokens_per_batch, int64_t ranks)
      : tokens_per_batch_(tokens_per_batch), ranks_(ranks) {}

  /// Whether a document of this length waits for others.
  bool defers(int64_t length) const;
  void add(size_t document, int64_t length, int64_t batch);
  /// A queue's worth of documents that fit into one batch together, of the longest kind that has
  /// as many; empty where none has.
  std::vector<size_t> release_group(int64_t batch);
  /// All that wait, longest kind first.
  std::vector<size_t> release_all(int64_t batch);

  bool empty() const { return counts_.waiting == 0; }
  const DeferralCounts& counts() const { return counts_; }

 private:
  struct Waiting {
    size_t document;
    int64_t since;  // batch
  };
  size_t queue_of(int64_t length) const;
  int64_t group_size(size_t queue) const;
  void release(size_t queue, int64_t count, int64_t batch, std::vector<size_t>& documents);

  int64_t tokens_per_batch_, ranks_;
  std::vector<std::deque<Waiting>> queues_;
  DeferralCounts counts_;
};

}  // namespace cadenza
