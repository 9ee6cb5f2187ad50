#include "model/rope.h"

#include <cmath>
#include <numbers>

namespace cadenza {
namespace {

// Llama 3: a pair that turns more than high_freq_factor times over the original context keeps its
// frequency, one that turns less than low_freq_factor times is slowed by `factor`, and between them
// the two are mixed linearly in the turns.
float scale_frequency(float frequency, const Llama3RopeScaling& scaling) {
  const auto context = static_cast<float>(scaling.original_max_position_embeddings);
  const auto factor = static_cast<float>(scaling.factor);
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  // Rounded as PyTorch rounds 2π / frequency: the reciprocal first. A last place here moves far
  // rows.
  const float wavelength = (1.0f / frequency) * static_cast<float>(2.0 * std::numbers::pi);
  if (wavelength > static_cast<float>(context / low)) return frequency / factor;
  if (wavelength < static_cast<float>(context / high)) return frequency;
  const float mix =
      (context / wavelength - static_cast<float>(low)) / static_cast<float>(high - low);
  return (1.0f - mix) * frequency / factor + mix * frequency;
}

}  // namespace

std::vector<float> rope_inverse_frequencies(const ModelConfig& config) {
  const int64_t head_dim = config.resolved_head_dim();
  const auto theta = static_cast<float>(config.rope_theta);
  std::vector<float> frequencies;
  for (int64_t i = 0; i < head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    const float frequency = 1.0f / std::pow(theta, exponent);
    frequencies.push_back(config.rope_scaling ? scale_frequency(frequency, *config.rope_scaling)
                                              : frequency);
  }
  return frequencies;
}

RopeTable rope_table(std::span<const float> inverse_frequencies,
                     std::span<const int64_t> positions) {
  RopeTable table;
  table.cosine.reserve(positions.size() * inverse_frequencies.size());
  table.sine.reserve(positions.size() * inverse_frequencies.size());
  for (const int64_t position : positions) {
    for (const float frequency : inverse_frequencies) {
      // The product is rounded to fp32, as in training; its cosine is then taken exactly.
      const float angle = static_cast<float>(position) * frequency;
      table.cosine.push_back(static_cast<float>(std::cos(double{angle})));
      table.sine.push_back(static_cast<float>(std::sin(double{angle})));
    }
  }
  return table;
}

}  // namespace cadenza
