#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "model/llama.h"
#include "model/plain_pass_test.h"

namespace cadenza {
namespace {

using testing::Each;

TEST(MakeLlama, EqualSeedsGiveEqualWeights) {
  const auto values = [](uint64_t seed) {
    const auto model = make_llama(small_config(false), {}, seed);
    return std::vector<float>(model->flat_parameters().begin(), model->flat_parameters().end());
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(MakeLlama, DeviationsFollowTheHeader) {
  ModelConfig config = small_config(false);
  config.hidden_size = 100;
  config.intermediate_size = 90;
  config.vocab_size = 200;
  const auto model = make_llama(config, {}, 1);
  for (const ParameterInfo& info : model->parameters()) {
    const std::vector<float> values(model->flat_parameters().begin() + info.offset,
                                    model->flat_parameters().begin() + info.offset + info.elements);
    if (info.shape.size() == 1) {
      EXPECT_THAT(values, Each(1.0f)) << info.name;
      continue;
    }
    const bool to_residual = info.name.find("o_proj") != std::string::npos ||
                             info.name.find("down_proj") != std::string::npos;
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    // 1,200 draws or more: the deviation's own deviation is 2 % of it; 8 % is four of those.
    EXPECT_NEAR(deviation / (to_residual ? 0.2 : 0.4), 1.0, 0.08) << info.name;
  }
}

TEST(MakeLlama, ParametersTileTheFlatBuffers) {
  for (const bool tied : {false, true}) {
    const auto model = make_llama(small_config(tied), {}, 1);
    int64_t next = 0;
    for (const ParameterInfo& info : model->parameters()) {
      EXPECT_EQ(info.offset, next) << info.name;
      EXPECT_EQ(info.weight_decay, info.shape.size() == 2) << info.name;
      next += info.elements;
    }
    EXPECT_EQ(static_cast<size_t>(next), model->flat_parameters().size());
    EXPECT_EQ(static_cast<size_t>(next), model->flat_gradients().size());
    EXPECT_EQ(model->parameters().size(), tied ? 20u : 21u);
  }
}

TEST(MakeLlama, RefusesBadConfigurations) {
  ModelConfig config = small_config(false);
  config.num_key_value_heads = 3;
  EXPECT_THROW(make_llama(config, {}, 1), ConfigError);
  EXPECT_THROW(make_llama(small_config(false), {.head_chunk_rows = 0}, 1), ConfigError);
  config = small_config(false);
  config.hidden_size = config.intermediate_size = config.vocab_size = int64_t{1} << 30;
  EXPECT_THROW(make_llama(config, {}, 1), ConfigError);
}

}  // namespace
}  // namespace cadenza
