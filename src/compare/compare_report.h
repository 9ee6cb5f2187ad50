#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "train/trainer.h"

namespace cadenza {

/// What one strategy did over the compared steps.
struct StrategySteps {
  std::string strategy;
  std::vector<StepReport> steps;
};

/// {"strategies": [{"name", "step_seconds_median", "step_seconds", "tokens_per_second",
/// "attention_max_over_mean", "bytes_per_step", "losses", "peak_memory_bytes", ...}], ...}. Medians
/// leave out the first step (buffers and caches are cold in it).
Json compare_to_json(const std::vector<StrategySteps>& results);

/// The same for people: a table, how well the losses agree, and how much faster each strategy is
/// than the first.
std::string compare_to_text(const std::vector<StrategySteps>& results);

}  // namespace cadenza
