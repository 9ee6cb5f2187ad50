#pragma once

#include <span>
#include <vector>

#include "step/pass_runner.h"

namespace cadenza {

/// What a step consists of besides its passes; the runner says when.
class StepParts {
 public:
  virtual ~StepParts() = default;
  /// The nano-batches of a micro-batch, which stay until it ends.
  virtual std::vector<NanoBatch> begin_micro_batch(int micro_batch) = 0;
  virtual void end_micro_batch(int micro_batch, const std::vector<NanoBatchResult>& results) = 0;
  virtual void post_plans() = 0;
  virtual void receive_plans() = 0;
  virtual void share_status() = 0;
  virtual void reduce_gradients() = 0;
  virtual void update() = 0;
};

/// Interprets the actions of a whole step on one rank (program/schedule.h). Gradients of all
/// micro-batches add up in the model; zero them before.
class StepRunner {
 public:
  StepRunner(AttentionContext& context, Segments& model, const ExchangeOptions& options)
      : context_(context), model_(model), spec_(attention_spec(model, options)) {}

  /// Errors as PassRunner::run, and those of the parts.
  void run(std::span<const Action> schedule, double loss_scale, StepParts& parts);

 private:
  AttentionContext& context_;
  Segments& model_;
  const AttentionSpec spec_;
};

}  // namespace cadenza
