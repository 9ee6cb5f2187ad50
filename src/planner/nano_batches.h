#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/strategy.h"

namespace cadenza {

/// One of the two nano-batches of a micro-batch, as a request of its own.
struct NanoBatchRequest {
  PlanRequest request;
  std::vector<int> documents;  // the request's documents, by index in the whole request
};

/// Splits a micro-batch for the ping-pong schedule into two nano-batches of equal tokens.
///
/// Documents are laid in order through the first nano-batch, rank 0 … N−1, and then through the
/// second, so that at most one document lies in both: it is the first's last and the second's
/// first, with the same shards in both, and its `queries` and `nano_batch` say which rows belong to
/// which. Queries of the second may see keys of the first, never the other way round: where the
/// mask asks for that, and where the strategy places tokens itself, the cut moves to the document
/// end that is nearest, and the nano-batches are as equal as it allows. A micro-batch of one such
/// document has an empty second nano-batch.
///
/// A strategy that places documents may fill each rank up to the capacity (default: the request's
/// tokens_per_rank) in each of the two. ConfigError where homes are given: the split chooses them.
std::vector<NanoBatchRequest> split_nano_batches(const Strategy& strategy,
                                                 const PlanRequest& request);

}  // namespace cadenza
