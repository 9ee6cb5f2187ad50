#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cadenza {
namespace {

ModelConfig llama3_config() {
  ModelConfig config;
  config.head_dim = 16;
  config.rope_theta = 500000;
  config.rope_scaling = Llama3RopeScaling{};  // factor 8, low 1, high 4, original 8192
  return config;
}

TEST(Rope, ScalesFrequenciesAsLlama3Does) {
  const double expected[] = {1.0,
                             0.1939227447,
                             0.03760603093,
                             0.007292664737,
                             0.000524846161,
                             3.428102196e-05,
                             6.647869871e-06,
                             1.289173172e-06};
  const std::vector<float> frequencies = rope_inverse_frequencies(llama3_config());
  ASSERT_EQ(frequencies.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(frequencies[i] / expected[i], 1.0, 5e-7) << i;
}

TEST(Rope, UnscaledFrequenciesArePowersOfTheta) {
  ModelConfig config;
  config.head_dim = 6;
  const std::vector<float> frequencies = rope_inverse_frequencies(config);
  ASSERT_EQ(frequencies.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(frequencies[static_cast<size_t>(i)] * std::pow(10000.0, i / 3.0), 1.0, 5e-7);
  }
}

TEST(Rope, LongPositionsKeepTheirAngle) {
  const std::vector<int64_t> positions = {0, 255, 256, 257, 15962, 131071, 1048575};
  const double expected[] = {1.0,          -0.862303608, -0.03979076, 0.819305529,
                             -0.908015901, -0.817983499, 0.78804224};
  const RopeTable table = rope_table(rope_inverse_frequencies(llama3_config()), positions);
  ASSERT_EQ(table.cosine.size(), 7 * 8u);
  ASSERT_EQ(table.sine.size(), 7 * 8u);
  for (size_t row = 0; row < positions.size(); ++row) {
    const double cosine = table.cosine[row * 8];
    const double sine = table.sine[row * 8];
    EXPECT_NEAR(cosine, expected[row], 1e-6) << positions[row];
    EXPECT_NEAR(cosine * cosine + sine * sine, 1.0, 1e-6);
    EXPECT_NEAR(sine, std::sin(static_cast<double>(positions[row])), 1e-6);
  }
}

}  // namespace
}  // namespace cadenza
