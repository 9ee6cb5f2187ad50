#pragma once

#include "base/rng.h"
#include "core/batch.h"

namespace cadenza {

/// What a random batch may hold; every test that draws one prints its seed.
struct RandomBatchOptions {
  int ranks = 2;
  int max_documents = 6;
  int64_t max_length = 40;
  bool masks = false;  // also window (with sinks), chunked, prefix, full; else causal
};

/// Odd lengths, one-token documents, sometimes one document over all ranks, sometimes fewer
/// documents than ranks, and sometimes a rank without any token. Homes are contiguous shards at
/// random cuts.
Batch random_batch(Rng& rng, const RandomBatchOptions& options);

}  // namespace cadenza
