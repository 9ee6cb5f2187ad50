#pragma once

#include <vector>

#include "core/verify_plan.h"
#include "engine/make_plans.h"
#include "program/rank_program.h"

namespace cadenza {

/// One nano-batch, as one rank runs it: verified plans and this rank's programs, by kind of layer.
struct AgreedNanoBatch {
  std::vector<VerifiedPlan> plans;
  std::vector<RankProgram> programs;
  std::vector<int> documents;  // of the plans, by index in the micro-batch

  const Batch& batch() const { return plans.front().plan().batch; }
};

/// One micro-batch, as its schedule needs it.
struct AgreedBatch {
  std::vector<AgreedNanoBatch> nano_batches;
  double plan_seconds = 0;         // the strategy, on rank 0
  double predicted_attention = 0;  // of this rank in one layer, in the cost model's unit
};

/// Verifies a micro-batch's plans and compiles this rank's part. PlanError if they are not exact.
AgreedBatch compile_batch(MadePlans made, const PlanSettings& settings, Rank rank);

/// Of all plans of a step, in order.
uint64_t hash_of(const std::vector<AgreedBatch>& step);

}  // namespace cadenza
