#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/group.h"
#include "config/train_config.h"
#include "data/token_source.h"
#include "engine/plan_ahead.h"
#include "kernels/backend.h"
#include "step/step_runner.h"
#include "train/adamw.h"
#include "train/gradient_reducer.h"
#include "train/learning_rate.h"
#include "train/rank_status.h"

namespace cadenza {

/// What one optimizer step did; the same on every rank but for peak memory order of ranks.
struct StepReport {
  int64_t step = 0;  // counted from 1
  double loss = 0;   // sum over targets / number of targets of the whole global batch
  double gradient_norm = 0;
  double learning_rate = 0;
  bool updated = false;  // false: the batch had no target
  int64_t tokens = 0, targets = 0, documents = 0;
  double seconds = 0;       // from a barrier of all ranks to the end of the update, on this rank
  double plan_seconds = 0;  // the strategy, on rank 0; before the step if planned ahead
  double plan_wait_seconds = 0;                  // of the step's: until plans were there, on rank 0
  std::vector<RankTimes> rank_times;             // by rank; lanes sum to each rank's step
  std::vector<double> rank_predicted_attention;  // of one layer, in the cost model's unit
  std::vector<int64_t> rank_peak_memory_bytes;
  std::vector<uint64_t> plan_hashes;  // by micro-batch and nano-batch

  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
  double attention_max_over_mean() const;  // measured seconds over ranks
  int64_t sent_bytes() const;              // all ranks, all layers, both phases
};

/// One model in training under one strategy, on one rank. All ranks construct it and call step
/// alike.
class Trainer {
 public:
  /// `source`: what the batches' handles stand for; a rank reads the rows of its homes only.
  Trainer(Group& group, Backend& backend, const TrainConfig& config, const std::string& strategy,
          const TokenSource& source);

  /// One optimizer step over the micro-batches: their losses and gradients count as those of one
  /// batch. NumericError on all ranks, before the update, naming step, rank and document, when a
  /// loss or gradient is not finite.
  StepReport step(const std::vector<DocumentBatch>& micro_batches);

  /// The step after the next call of step() will have these micro-batches: it is planned while that
  /// one runs. All ranks call alike.
  void plan_ahead(const std::vector<DocumentBatch>& micro_batches);

  TrainableModel& model() { return *model_; }
  const std::string& strategy() const { return strategy_name_; }
  /// Bytes of parameters, gradients and optimizer states: what a step does not free.
  int64_t static_bytes() const { return static_bytes_; }

 private:
  class Step;  // the parts of one step, as its schedule calls them
  std::string describe_bad_loss(const AgreedNanoBatch& nano_batch, const DocumentBatch& batch,
                                const NanoBatchResult& result) const;
  std::string describe_bad_gradient() const;
  void stop_if_not_finite(const std::vector<RankStatus>& all) const;
  /// This rank's part of the reduced gradients, clipped.
  void reduce(StepReport& report);
  Deadline deadline() const { return Deadline::after_seconds(config_.deadline_seconds); }

  Group& group_;
  const TrainConfig config_;
  const std::string strategy_name_;
  int64_t static_bytes_ = 0;
  std::unique_ptr<TrainableModel> model_;
  std::unique_ptr<AdamW> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;
  LaneClock clock_;
  AttentionContext context_;
  StepRunner runner_;
  const TokenSource& source_;
  const PlanSettings plan_settings_;
  PlanAhead ahead_;
  StepLengths next_;  // to be planned while the step runs
  std::vector<Action> schedule_;
  LearningRate learning_rate_;
  int64_t steps_done_ = 0;
};

}  // namespace cadenza
