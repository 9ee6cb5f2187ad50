#include "data/deferred_documents.h"

#include <algorithm>
#include <cmath>

namespace cadenza {
namespace {

/// Longest document of a queue: c / 2, c, 2c, ... for c = tokens_per_batch / ranks.
int64_t longest_of(size_t queue, int64_t tokens_per_batch, int64_t ranks) {
  const double half = static_cast<double>(tokens_per_batch) / (2 * static_cast<double>(ranks));
  return static_cast<int64_t>(std::ldexp(half, static_cast<int>(queue)));
}

}  // namespace

size_t DeferredDocuments::queue_of(int64_t length) const {
  size_t queue = 0;
  while (longest_of(queue, tokens_per_batch_, ranks_) < length) ++queue;
  return queue;
}

int64_t DeferredDocuments::group_size(size_t queue) const {
  const int64_t longest = std::max<int64_t>(1, longest_of(queue, tokens_per_batch_, ranks_));
  return std::min(ranks_, tokens_per_batch_ / longest);
}

bool DeferredDocuments::defers(int64_t length) const {
  // Longer than a batch: it is cut or left out, not balanced.
  if (ranks_ < 2 || length > tokens_per_batch_) return false;
  const bool outlier = length > tokens_per_batch_ / ranks_ / 4;
  return outlier && group_size(queue_of(length)) > 1;
}

void DeferredDocuments::add(size_t document, int64_t length, int64_t batch) {
  const size_t queue = queue_of(length);
  if (queues_.size() <= queue) queues_.resize(queue + 1);
  queues_[queue].push_back({document, batch});
  ++counts_.waiting;
}

std::vector<size_t> DeferredDocuments::release_group(int64_t batch) {
  std::vector<size_t> documents;
  for (size_t queue = queues_.size(); queue-- > 0;) {
    const int64_t count = group_size(queue);
    if (static_cast<int64_t>(queues_[queue].size()) < count) continue;
    release(queue, count, batch, documents);
    break;
  }
  return documents;
}

std::vector<size_t> DeferredDocuments::release_all(int64_t batch) {
  std::vector<size_t> documents;
  for (size_t queue = queues_.size(); queue-- > 0;)
    release(queue, static_cast<int64_t>(queues_[queue].size()), batch, documents);
  return documents;
}

void DeferredDocuments::release(size_t queue, int64_t count, int64_t batch,
                                std::vector<size_t>& documents) {
  for (int64_t i = 0; i < count; ++i) {
    const Waiting first = queues_[queue].front();
    queues_[queue].pop_front();
    documents.push_back(first.document);
    --counts_.waiting;
    ++counts_.released;
    counts_.delay_sum += batch - first.since;
    counts_.longest_delay = std::max(counts_.longest_delay, batch - first.since);
  }
}

}  // namespace cadenza
