#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/memory_tokens.h"
#include "planner/planning_options.h"
#include "step/trainable_model.h"
#include "train/rank_environment.h"

namespace cadenza {

struct EvalOptions {
  std::string strategy = "cad";
  PlanningSettings planning;
  int64_t tokens_per_rank =
      16384;  // documents are batched up to this; a longer one makes a larger batch
  double deadline_seconds = 60;
  std::string gradients_path;  // empty: forward only
};

struct EvalResult {
  double loss_mean = 0;   // 0 where no document has a target
  double perplexity = 1;  // exp(loss_mean)
  int64_t valid_targets = 0;
  int64_t tokens = 0;
  /// Loss of every token, by document in the order given; nothing where there is no target.
  std::vector<std::optional<float>> per_token_loss;
};

/// Mean loss of the model over the documents, on the ranks that were joined; with gradients_path,
/// the gradient of that mean, written by rank 0 under the checkpoint's tensor names.
EvalResult evaluate(RankEnvironment& rank, TrainableModel& model, const MemoryTokens& documents,
                    const EvalOptions& options);

}  // namespace cadenza
