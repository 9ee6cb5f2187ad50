#include "planner/placing_strategy.h"

#include "base/cat.h"
#include "planner/request_batch.h"

namespace cadenza {

Batch unplaced_batch(const PlanRequest& request, const char* strategy) {
  check_request(request);
  check_all_compute(request);
  if (request.homes_given) {
    throw NotApplicable(cat("[", strategy, "] expected documents that lie nowhere yet, got homes; ",
                            "this strategy places tokens itself: leave the homes out"));
  }
  Batch batch{.homes = request.homes, .documents = request.documents};
  for (Document& document : batch.documents) document.shards = {{{0, document.length}, 0}};
  check_batch(batch);  // lengths and queries; anywhere will do
  for (Document& document : batch.documents) document.shards.clear();
  return batch;
}

int64_t capacity_of(const PlanRequest& request) {
  return request.options.capacity.value_or(request.tokens_per_rank);
}

void check_capacity(int64_t tokens, const PlanRequest& request, const char* strategy) {
  const int64_t capacity = capacity_of(request);
  if (tokens <= capacity) return;
  throw NeedsCapacity(cat("[", strategy, "] expected room for ", tokens, " tokens on a rank, got ",
                          capacity, "; needs capacity ", tokens),
                      tokens);
}

void check_even_capacity(const Batch& batch, const PlanRequest& request, const char* strategy) {
  int64_t tokens = 0;
  for (const Document& document : batch.documents) tokens += document.length;
  check_capacity((tokens + batch.homes - 1) / batch.homes, request, strategy);
}

}  // namespace cadenza
