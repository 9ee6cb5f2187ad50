#pragma once

#include <cstdint>

namespace cadenza {

/// Linear warm-up from 0 to `peak` over warmup_steps, then half a cosine down to `minimum` at the
/// last step.
struct LearningRate {
  double peak = 0;
  double minimum = 0;
  int64_t warmup_steps = 0;
  int64_t steps = 1;

  /// Rate of update `step`, counted from 0.
  double at(int64_t step) const;
};

}  // namespace cadenza
