#pragma once

#include "base/json.h"
#include "config/train_config.h"
#include "train/rank_environment.h"

namespace cadenza {

/// Trains as the configuration says, on the ranks that were joined. `made_by` is stored in the run
/// folder.
void train_run(RankEnvironment& rank, const TrainConfig& config, const Json& made_by);

/// What one step reads of the stream, and where the stream was then.
struct StepInput {
  std::vector<DocumentBatch> batches;  // micro-batches
  int64_t epoch = 0;
  Json deferral;
};
StepInput read_step(BatchStream& stream, const TrainConfig& config);

/// How long documents have waited since the start, in optimizer steps of this many micro-batches.
Json deferral_to_json(const DeferralCounts& counts, int64_t micro_batches);

/// The stream of batches that a configuration describes, for this many ranks.
BatchStreamOptions stream_options(const TrainConfig& config, int ranks);

}  // namespace cadenza
