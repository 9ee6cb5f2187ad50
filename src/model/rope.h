#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model_config.h"

namespace cadenza {

/// Angle per position of each of the head_dim / 2 pairs, radians, scaled as the configuration says.
/// In fp32 in the order of Hugging Face's own operations: at position 10^6 one rounding more turns
/// the angle by 0.06.
std::vector<float> rope_inverse_frequencies(const ModelConfig& config);

/// Cosine and sine of fp32(position) × fp32(frequency): rows × pairs, row by row.
struct RopeTable {
  std::vector<float> cosine;
  std::vector<float> sine;
};
RopeTable rope_table(std::span<const float> inverse_frequencies,
                     std::span<const int64_t> positions);

}  // namespace cadenza
