#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/lane_clock.h"
#include "comm/group.h"

namespace cadenza {

/// What one rank tells the others at the end of a step's passes, before anything is updated.
struct RankStatus {
  double loss_sum = 0;
  double predicted_attention = 0;  // in the cost model's unit, one layer
  int64_t peak_memory_bytes = 0;
  std::string trouble;  // empty, or what is not finite and in which document
};

/// Everyone's, by rank. Exact: values travel as they are.
std::vector<RankStatus> exchange_status(Group& group, const RankStatus& mine, Deadline deadline);

/// How one rank spent a step.
struct RankTimes {
  LaneTimes lanes;         // they sum to its step
  int64_t sent_bytes = 0;  // by exchanges of attention, to other ranks
};

/// Everyone's, by rank, after the step.
std::vector<RankTimes> exchange_times(Group& group, const RankTimes& mine, Deadline deadline);

}  // namespace cadenza
