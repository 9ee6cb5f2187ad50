#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cost_model.h"
#include "core/mask.h"
#include "core/model_shape.h"
#include "planner/planning_options.h"
#include "program/schedule.h"

namespace cadenza {

/// Layers of a model that share a mask, and so a plan.
struct LayerKind {
  Mask mask;
  double share = 1;  // of the model's layers
};

/// What does not change between the batches of a run.
struct PlanSettings {
  const Strategy& strategy;
  ModelShape shape;
  std::vector<LayerKind> kinds = {LayerKind{}};
  PlanningSettings planning = {};
  int64_t tokens_per_rank = 0;  // room of each rank
  double deadline_seconds = 60;
  std::shared_ptr<const CostModel> cost = std::make_shared<PairsCostModel>();
  ScheduleKind schedule = ScheduleKind::kPlain;
};

/// Lengths of a micro-batch's documents.
using BatchLengths = std::vector<int64_t>;
/// Of a step's micro-batches.
using StepLengths = std::vector<BatchLengths>;

}  // namespace cadenza
