#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/attention_context.h"
#include "attention/attention_spec.h"
#include "program/rank_program.h"
#include "program/schedule.h"
#include "step/segments.h"

namespace cadenza {

/// What one nano-batch leaves behind on this rank.
struct NanoBatchResult {
  std::vector<float> row_losses;  // of this rank's rows
  int64_t first_bad_row = -1;     // whose embedding gradient is not finite
};

/// One nano-batch to run: this rank's programs, one for each kind of layer, of the plans that all
/// ranks agreed on, and its rows.
struct NanoBatch {
  std::span<const RankProgram> programs;
  const RankTokens& tokens;
};

/// One pass over a micro-batch: as many nano-batches as the schedule's actions name. What the
/// second one's programs carry over must be linked to the first (program/rank_program.h).
struct Pass {
  std::vector<NanoBatch> nano_batches;
  std::span<const Action> schedule;
  double loss_scale = 0;
  bool training = true;
};

/// How rows travel.
struct ExchangeOptions {
  std::optional<Dtype> gradient_dtype;  // of dQ, dK and dV; default: the model's
  // What servers compute the backward from: memory kept since the forward, or bytes sent again.
  BackwardInputs inputs = BackwardInputs::kKept;
};

/// What attention needs to know of a model.
AttentionSpec attention_spec(const Segments& model, const ExchangeOptions& options = {});

/// Interprets a pass's actions on one rank: segments are the model's, attention is the group's
/// (attention/rank_attention.h). Every rank of the group runs the same schedule.
class PassRunner {
 public:
  PassRunner(AttentionContext& context, Segments& model, const ExchangeOptions& options = {})
      : context_(context), model_(model), spec_(attention_spec(model, options)) {}

  /// By nano-batch. PeerError when a peer is lost or late, Interrupted on Ctrl-C; the group is then
  /// of no use for a further pass.
  std::vector<NanoBatchResult> run(const Pass& pass);

 private:
  AttentionContext& context_;
  Segments& model_;
  const AttentionSpec spec_;
};

}  // namespace cadenza
