#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "train/planned_batch.h"

namespace cadenza {

/// Makes the plans of the next step while this one runs, on a thread of its own: planning needs
/// lengths only, and the step none of the planner. On rank 0; one step at a time.
class PlanAhead {
 public:
  PlanAhead(const PlanSettings& settings, int ranks) : settings_(settings), ranks_(ranks) {}

  /// Begins with the plans of these micro-batches. What was begun before and not taken is dropped.
  void begin(const std::vector<TokenBatch>& batches);

  /// The plans of a step's micro-batches: those begun with, where they are of the same lengths,
  /// else made now. Errors of the strategy come from here.
  std::vector<MadePlans> take(const std::vector<TokenBatch>& batches);

 private:
  using Lengths = std::vector<std::vector<int64_t>>;  // by micro-batch
  static std::vector<MadePlans> make(const Lengths& lengths, const PlanSettings& settings,
                                     int ranks);

  const PlanSettings& settings_;
  const int ranks_;
  Lengths begun_;
  std::future<std::vector<MadePlans>> plans_;
};

}  // namespace cadenza
