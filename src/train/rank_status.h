#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/group.h"
#include "runtime/rank_runtime.h"

namespace cadenza {

/// What one rank tells the others at the end of a step's passes, before anything is updated.
struct RankStatus {
  double loss_sum = 0;
  PassTimes times;
  double predicted_attention = 0;  // in the cost model's unit, one layer
  int64_t peak_memory_bytes = 0;
  std::string trouble;  // empty, or what is not finite and in which document
};

/// Everyone's, by rank. Exact: values travel as they are.
std::vector<RankStatus> exchange_status(Group& group, const RankStatus& mine, Deadline deadline);

}  // namespace cadenza
