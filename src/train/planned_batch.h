#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/group.h"
#include "core/verify_plan.h"
#include "data/batch_stream.h"
#include "planner/strategy.h"
#include "program/rank_program.h"
#include "step/pass_runner.h"
#include "step/segments.h"

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
  ScheduleKind schedule = ScheduleKind::kPlain;
  int servers_per_node = 0;
};

/// The strategy's plans of one micro-batch: one for each nano-batch of the schedule.
struct MadePlans {
  std::vector<Plan> plans;
  double seconds = 0;  // the strategy alone
};

/// A pure function of the documents' lengths, so that it may run beside a step.
MadePlans make_plans(const std::vector<int64_t>& lengths, const PlanSettings& settings, int ranks);

/// One nano-batch: planned, agreed by all ranks, compiled for this one.
struct PlannedNanoBatch {
  VerifiedPlan plan;
  std::vector<RankProgram> programs;  // by kind of layer
  RankTokens tokens;
  std::vector<int> documents;  // of the plan, by index in the micro-batch
};

/// One micro-batch, as its schedule needs it.
struct PlannedBatch {
  std::vector<PlannedNanoBatch> nano_batches;
  double plan_seconds = 0;         // on rank 0: the strategy alone
  double predicted_attention = 0;  // of this rank in one layer, in the cost model's unit

  std::vector<NanoBatch> to_run() const;
};

/// Everyone agrees on rank 0's plans, which are `made` where it has them already, and compiles
/// them; each rank takes its tokens from the plans' homes.
PlannedBatch plan_batch(Group& group, const TokenBatch& batch, const PlanSettings& settings,
                        std::optional<MadePlans> made = std::nullopt);

/// Lengths of the batch's documents.
std::vector<int64_t> lengths_of(const TokenBatch& batch);

}  // namespace cadenza
