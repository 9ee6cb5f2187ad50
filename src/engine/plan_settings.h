#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/cost_model.h"
#include "core/mask.h"
#include "core/model_shape.h"
#include "planner/strategy.h"
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
  double tolerance = 0.02;
  int64_t tokens_per_rank = 0;           // room of each rank
  std::optional<int64_t> capacity = {};  // of strategies that place documents; tokens_per_rank
  double deadline_seconds = 60;
  std::shared_ptr<const CostModel> cost = std::make_shared<PairsCostModel>();
  ScheduleKind schedule = ScheduleKind::kPlain;
  int servers_per_node = 0;
};

/// Lengths of a micro-batch's documents.
using BatchLengths = std::vector<int64_t>;
/// Of a step's micro-batches.
using StepLengths = std::vector<BatchLengths>;

}  // namespace cadenza
