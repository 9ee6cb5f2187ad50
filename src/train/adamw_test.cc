#include "train/adamw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "model/llama.h"

namespace cadenza {
namespace {

ModelConfig tiny_config() {
  ModelConfig config;
  config.vocab_size = 11;
  config.hidden_size = 6;
  config.intermediate_size = 5;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 1;
  config.num_key_value_heads = 1;
  return config;
}

void fill_gradients(TrainableModel& model, int step) {
  auto gradients = model.flat_gradients();
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i) + step));
  }
}

// Decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2), in double, one element.
struct Element {
  double value, mean = 0, square = 0;
  void step(double gradient, int step, double rate, double decay, const AdamWOptions& options) {
    mean = options.beta1 * mean + (1 - options.beta1) * gradient;
    square = options.beta2 * square + (1 - options.beta2) * gradient * gradient;
    value *= 1 - rate * decay;
    const double mean_hat = mean / (1 - std::pow(options.beta1, step));
    const double square_hat = square / (1 - std::pow(options.beta2, step));
    value -= rate * mean_hat / (std::sqrt(square_hat) + options.epsilon);
  }
};

void expect_steps(double beta1) {
  const auto model = make_llama(tiny_config(), {}, /*seed=*/3);
  const AdamWOptions options{.beta1 = beta1, .weight_decay = 0.3};
  std::vector<Element> expected;
  for (const float value : model->flat_parameters()) expected.push_back({value});
  const auto optimizer = make_adamw(*model, options);
  for (int step = 1; step <= 3; ++step) {
    const double rate = 0.01 * step;  // changes, as under a schedule
    fill_gradients(*model, step);
    optimizer->step(rate);
    for (const ParameterInfo& info : model->parameters()) {
      for (int64_t i = info.offset; i < info.offset + info.elements; ++i) {
        const auto at = static_cast<size_t>(i);
        const double decay = info.weight_decay ? options.weight_decay : 0.0;
        expected[at].step(model->flat_gradients()[at], step, rate, decay, options);
        ASSERT_NEAR(model->flat_parameters()[at], expected[at].value, 2e-6)
            << info.name << " " << i;
      }
    }
  }
}

TEST(AdamW, FollowsThePaperWithDecayOnMatricesOnly) { expect_steps(0.9); }

TEST(AdamW, TakesBetaFromItsOptions) { expect_steps(0.5); }

double loss_of(TrainableModel& model) {
  const RankTokens tokens{.ids = {3, 1, 4}, .positions = {0, 0, 0}, .targets = {5, 9, 2}};
  const auto run = model.start(tokens, 1, false);
  std::vector<BFloat16> rows(3 * 6);
  const RowsView zeros = contiguous_rows(rows.data(), 3, 1, 6);
  std::vector<BFloat16> q = rows, k = rows, v = rows;
  const auto over = [](std::vector<BFloat16>& x) { return contiguous_rows(x.data(), 3, 1, 6); };
  for (int segment = 0; segment < model.layers(); ++segment) {
    run->forward(segment, zeros, {over(q), over(k), over(v)});
  }
  run->forward(model.layers(), zeros, {});
  double sum = 0;
  for (const float loss : run->row_losses()) sum += loss;
  return sum;
}

// Norm weights of 1 that shall fall by 0.0006 a step. The next bf16 number below 1 is 0.99609375:
// weights kept in bf16 alone would never move.
TEST(AdamW, StepsTooSmallForBf16AddUpInTheFp32Weights) {
  const auto model = make_llama(tiny_config(), {.dtype = Dtype::kBFloat16}, 3);
  const auto optimizer = make_adamw(*model, {.weight_decay = 0});
  std::ranges::fill(model->flat_gradients(), 0.0f);
  for (const ParameterInfo& info : model->parameters()) {
    if (info.shape.size() > 1) continue;
    std::ranges::fill(model->flat_gradients().subspan(static_cast<size_t>(info.offset),
                                                      static_cast<size_t>(info.elements)),
                      1.0f);
  }
  const double first_loss = loss_of(*model);
  const auto norm_weight = [&] {
    const ParameterInfo& norm = model->parameters()[1];
    EXPECT_EQ(norm.name, "model.layers.0.input_layernorm.weight");
    return model->flat_parameters()[static_cast<size_t>(norm.offset)];
  };
  for (int step = 1; step <= 100; ++step) {
    optimizer->step(0.0006);
    if (step == 3) {
      EXPECT_NEAR(norm_weight(), 0.9982, 1e-5);
      EXPECT_EQ(loss_of(*model), first_loss) << "0.9982 still rounds to 1";
    }
  }
  EXPECT_NEAR(norm_weight(), 0.94, 1e-5);
  EXPECT_NE(loss_of(*model), first_loss);
}

TEST(AdamW, LeavesGradientsAlone) {
  const auto model = make_llama(tiny_config(), {}, 3);
  fill_gradients(*model, 1);
  const std::vector<float> before(model->flat_gradients().begin(), model->flat_gradients().end());
  make_adamw(*model, {})->step(0.1);
  EXPECT_EQ(before,
            std::vector<float>(model->flat_gradients().begin(), model->flat_gradients().end()));
}

}  // namespace
}  // namespace cadenza
