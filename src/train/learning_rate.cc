#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cadenza {

double LearningRate::at(int64_t step) const {
  if (step < warmup_steps) {
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const auto decay_steps = static_cast<double>(std::max<int64_t>(1, steps - 1 - warmup_steps));
  const double done = std::min(1.0, static_cast<double>(step - warmup_steps) / decay_steps);
  return minimum + 0.5 * (peak - minimum) * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace cadenza
