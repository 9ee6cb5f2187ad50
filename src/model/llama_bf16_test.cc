// A model in bf16: what is rounded, and what stays fp32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/rng.h"
#include "model/plain_pass_test.h"
#include "model/rope.h"

namespace cadenza {
namespace {

constexpr ModelOptions kBf16{.dtype = Dtype::kBFloat16};

// Half a step of bf16, relative to the number.
constexpr double kRounding = 0x1p-8;

RankTokens random_tokens(const std::vector<int64_t>& lengths, uint64_t seed) {
  Rng rng(seed);
  std::vector<int64_t> ids;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i) ids.push_back(uniform_between(rng, 0, 12));
  }
  return tokens_of_documents(ids, lengths);
}

std::vector<float> gradients_of(LlamaModel& model) {
  return {model.flat_gradients().begin(), model.flat_gradients().end()};
}

std::span<float> values_of(LlamaModel& model, const std::string& name) {
  for (const ParameterInfo& info : model.parameters()) {
    if (info.name != name) continue;
    return model.flat_parameters().subspan(static_cast<size_t>(info.offset),
                                           static_cast<size_t>(info.elements));
  }
  throw std::runtime_error("no parameter " + name);
}

/// Rows of one head or more in bf16.
struct Bf16Buffer {
  Bf16Buffer(int64_t rows, int64_t heads, int64_t dim)
      : values(static_cast<size_t>(rows * heads * dim)),
        view(contiguous_rows(values.data(), rows, heads, dim)) {}
  std::vector<BFloat16> values;
  RowsView view;
};

/// Q, K, V of layer 0.
struct FirstLayer {
  FirstLayer(LlamaModel& model, const RankTokens& tokens)
      : q(tokens.rows(), model.heads(), model.head_dim()),
        k(tokens.rows(), model.kv_heads(), model.head_dim()),
        v(tokens.rows(), model.kv_heads(), model.head_dim()) {
    model.start(tokens, 1, false)->forward(0, {}, {q.view, k.view, v.view});
  }
  Bf16Buffer q, k, v;
};

// The same weights, which bf16 holds, in fp32: what is left is the rounding of activations and of
// their gradients, a few dozen in a row, each at most kRounding and of either sign. Measured: 2 to
// 5 times kRounding in the root mean square of a tensor, more the farther it is from the loss.
TEST(LlamaBf16, LossesAndGradientsFollowTheFp32Model) {
  for (const bool tied : {false, true}) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSegment}) {
      SCOPED_TRACE(cat("tied ", tied, ", recompute ", recompute == Recompute::kSegment));
      ModelConfig config = small_config(tied);
      config.hidden_size = 64;
      config.intermediate_size = 48;
      config.initializer_range = 0.12;
      const auto exact = make_llama(config, {}, 5);
      for (float& value : exact->flat_parameters()) value = to_float(to_bf16(value));
      const ModelOptions options{
          .dtype = Dtype::kBFloat16, .recompute = recompute, .head_chunk_rows = 4};
      const auto model = make_llama(config, options, 5);
      std::ranges::copy(exact->flat_parameters(), model->flat_parameters().begin());
      const RankTokens tokens = random_tokens({9, 1, 6}, 2);
      const PassOptions pass{.lengths = {9, 1, 6}, .loss_scale = 1.0 / 13};
      const double expected = plain_pass(*exact, tokens, pass).loss_sum();
      EXPECT_NEAR(plain_pass(*model, tokens, pass).loss_sum(), expected, 4 * kRounding * expected);
      for (const ParameterInfo& info : model->parameters()) {
        double squares = 0, error_squares = 0;
        for (int64_t i = info.offset; i < info.offset + info.elements; ++i) {
          const double wanted = exact->flat_gradients()[static_cast<size_t>(i)];
          const double error = model->flat_gradients()[static_cast<size_t>(i)] - wanted;
          squares += wanted * wanted;
          error_squares += error * error;
        }
        const double error = std::sqrt(error_squares / squares);
        EXPECT_GT(error, 0) << info.name << ": nothing was rounded";
        EXPECT_LE(error, 8 * kRounding) << info.name;
      }
    }
  }
}

// Sums of bf16 gradients in bf16 would err by a percent after a few dozen passes.
TEST(LlamaBf16, GradientsOfPassesAddUpInFp32) {
  const auto model = make_llama(small_config(false), kBf16, 5);
  const RankTokens tokens = random_tokens({7}, 3);
  plain_pass(*model, tokens, {.lengths = {7}});
  const std::vector<float> once = gradients_of(*model);
  constexpr int kPasses = 50;
  for (int i = 1; i < kPasses; ++i) plain_pass(*model, tokens, {.lengths = {7}});
  for (size_t i = 0; i < once.size(); ++i) {
    ASSERT_NEAR(model->flat_gradients()[i], kPasses * once[i], 1e-5 * kPasses * std::abs(once[i]));
  }
}

// v of layer 0 is the norm's output where v_proj picks out single elements: rounded once, at the
// end. A sum of 300 squares in bf16 would be off by more.
TEST(LlamaBf16, NormIsRoundedOnce) {
  ModelConfig config = small_config(false);
  config.hidden_size = 300;
  const auto model = make_llama(config, kBf16, 6);
  auto pick = values_of(*model, "model.layers.0.self_attn.v_proj.weight");  // [12, 300]
  std::ranges::fill(pick, 0.0f);
  for (size_t i = 0; i < 12; ++i) pick[i * 300 + 20 * i] = 1;
  auto weight = values_of(*model, "model.layers.0.input_layernorm.weight");
  for (size_t i = 0; i < 300; ++i) weight[i] = 1 + static_cast<float>(i) / 256;
  const auto row = values_of(*model, "model.embed_tokens.weight").subspan(4 * 300, 300);
  const auto rounded = [](float x) { return static_cast<double>(to_float(to_bf16(x))); };
  double squares = 0;
  for (const float x : row) squares += rounded(x) * rounded(x);
  const double scale = 1 / std::sqrt(squares / 300 + config.rms_norm_eps);
  const FirstLayer layer(*model, tokens_of_documents({4}, {1}));
  for (size_t i = 0; i < 12; ++i) {
    const double expected = rounded(weight[20 * i]) * rounded(row[20 * i]) * scale;
    int exponent = 0;
    std::frexp(expected, &exponent);
    EXPECT_NEAR(to_float(layer.v.values[i]), expected, std::ldexp(1.0, exponent - 9) * 1.0001) << i;
  }
}

// Positions and frequencies that were ever bf16 would turn 257 into 256, and 131071 into 131072.
TEST(LlamaBf16, RopeTurnsByFp32AnglesAtFarPositions) {
  const auto model = make_llama(small_config(false), kBf16, 7);
  const std::vector<int64_t> positions = {0, 255, 256, 257, 15962, 131071, 1048575};
  const double cosine_of_dim_0[] = {
      1, -0.862303608, -0.03979076, 0.819305529, -0.908015901, -0.817983499, 0.78804224};
  RankTokens tokens = tokens_of_documents(std::vector<int64_t>(positions.size(), 3),
                                          {static_cast<int64_t>(positions.size())});
  tokens.positions = positions;
  const FirstLayer layer(*model, tokens);
  const RopeTable table = rope_table(rope_inverse_frequencies(model->config()), positions);
  const int64_t half = model->head_dim() / 2;
  for (const Bf16Buffer* turned : {&layer.q, &layer.k}) {
    for (size_t row = 0; row < positions.size(); ++row) {
      EXPECT_NEAR(table.cosine[row * static_cast<size_t>(half)], cosine_of_dim_0[row], 1e-6);
      for (int64_t head = 0; head < turned->view.heads; ++head) {
        const BFloat16* unturned = turned->view.bf16(0, head);  // position 0
        for (int64_t i = 0; i < half; ++i) {
          const float a = to_float(unturned[i]), b = to_float(unturned[i + half]);
          const double cosine =
              table.cosine[row * static_cast<size_t>(half) + static_cast<size_t>(i)];
          const double sine = table.sine[row * static_cast<size_t>(half) + static_cast<size_t>(i)];
          const BFloat16* got = turned->view.bf16(static_cast<int64_t>(row), head);
          const double tolerance = kRounding + 1e-6;
          EXPECT_NEAR(to_float(got[i]), a * cosine - b * sine,
                      tolerance * std::abs(a * cosine - b * sine) + 1e-6);
          EXPECT_NEAR(to_float(got[i + half]), b * cosine + a * sine,
                      tolerance * std::abs(b * cosine + a * sine) + 1e-6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cadenza
