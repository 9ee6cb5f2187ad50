#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/group.h"
#include "core/verify_plan.h"
#include "data/batch_stream.h"
#include "model/segments.h"
#include "planner/strategy.h"
#include "program/rank_program.h"

namespace cadenza {

/// What does not change between the batches of a run.
struct PlanSettings {
  const Strategy& strategy;
  ModelShape shape;
  double tolerance = 0.02;
  int64_t tokens_per_rank = 0;
  std::optional<int64_t> capacity = {};  // of strategies that place documents; tokens_per_rank
  double deadline_seconds = 60;
  std::shared_ptr<const CostModel> cost = std::make_shared<PairsCostModel>();
};

/// One micro-batch, planned, agreed by all ranks, compiled for this one.
struct PlannedBatch {
  VerifiedPlan plan;
  RankProgram program;
  RankTokens tokens;
  double plan_seconds = 0;         // on rank 0: the strategy alone
  double predicted_attention = 0;  // of this rank in one layer, in the cost model's unit
};

/// Rank 0 plans, everyone agrees and compiles; each rank takes its tokens from the plan's homes.
PlannedBatch plan_batch(Group& group, const TokenBatch& batch, const PlanSettings& settings);

}  // namespace cadenza
