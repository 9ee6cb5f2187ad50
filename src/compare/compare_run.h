#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "compare/compare_report.h"
#include "config/train_config.h"
#include "train/rank_environment.h"

namespace cadenza {

/// Trains one model under each of config.compare_strategies on the same batches, from the same
/// start, interleaved step by step, so that a change of the machine's speed meets all alike. Same
/// result on every rank but for times.
std::vector<StrategySteps> compare_run(RankEnvironment& rank, const TrainConfig& config,
                                       const Json& made_by);

}  // namespace cadenza
