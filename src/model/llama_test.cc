#include "model/llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "model/plain_pass_test.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Threads of a busy machine wait for each other longer than these models compute.
const bool kOneThread = [] {
  set_model_threads(1);
  return true;
}();

const std::string kTiny = CADENZA_SOURCE_DIR "/tests/data/tiny_llama";

RankTokens random_tokens(const std::vector<int64_t>& lengths, int64_t vocab_size, uint64_t seed) {
  Rng rng(seed);
  std::vector<int64_t> ids;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i) ids.push_back(uniform_between(rng, 0, vocab_size - 1));
  }
  return tokens_of_documents(ids, lengths);
}

const ParameterInfo& parameter(const LlamaModel& model, const std::string& name) {
  for (const ParameterInfo& info : model.parameters()) {
    if (info.name == name) return info;
  }
  throw std::runtime_error("no parameter " + name);
}

std::vector<float> gradients_of(LlamaModel& model) {
  return {model.flat_gradients().begin(), model.flat_gradients().end()};
}

void clear_gradients(LlamaModel& model) {
  for (float& value : model.flat_gradients()) value = 0.0f;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(double{value}));
  return most;
}

// max|a - b| <= tolerance · max|b|; NaN fails.
void expect_close(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  const double allowed = tolerance * largest(b);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::abs(double{a[i]} - b[i]) <= allowed) << i << ": " << a[i] << " and " << b[i];
  }
}

struct Variant {
  const char* name;
  ModelOptions options;
  int64_t gap;
};

class TinyCheckpoint : public testing::TestWithParam<Variant> {};

// The reference values were computed in double by another implementation.
void expect_reference_losses(const PassResult& result, const Json& expected) {
  EXPECT_NEAR(result.loss_sum() / 10, expected["loss_mean"].get<double>(), 4e-6);
  ASSERT_EQ(result.row_losses.size(), 12u);
  for (size_t row = 0; row < 12; ++row) {
    const Json& loss = expected["per_token_loss"][row];
    EXPECT_NEAR(result.row_losses[row], loss.is_null() ? 0.0 : loss.get<double>(), 1e-5) << row;
  }
}

void expect_reference_gradients(LlamaModel& model, const Json& expected) {
  int seen = 0;
  for (const auto& [key, value] : expected["grad_of_loss_mean"].items()) {
    const size_t bracket = key.find('[');
    const ParameterInfo& info = parameter(model, key.substr(0, bracket));
    const int64_t at = info.offset + std::stoll(key.substr(bracket + 1));
    EXPECT_NEAR(model.flat_gradients()[static_cast<size_t>(at)], value.get<double>(), 1e-6) << key;
    ++seen;
  }
  EXPECT_EQ(seen, 11);
}

TEST_P(TinyCheckpoint, GivesTheReferenceLossesAndGradients) {
  ASSERT_TRUE(kOneThread);
  const Json expected = parse_json(read_file(kTiny + "/expected.json"), "expected.json");
  const auto model = load_llama(kTiny, GetParam().options);
  const RankTokens tokens =
      tokens_of_documents(expected["input_ids"].get<std::vector<int64_t>>(), {7, 5});
  EXPECT_EQ(tokens.targets, expected["labels"].get<std::vector<int64_t>>());
  const PassResult result =
      plain_pass(*model, tokens, {.lengths = {7, 5}, .loss_scale = 0.1, .gap = GetParam().gap});
  expect_reference_losses(result, expected);
  expect_reference_gradients(*model, expected);
  EXPECT_EQ(result.first_bad_row, -1);
}

INSTANTIATE_TEST_SUITE_P(
    Llama, TinyCheckpoint,
    testing::Values(
        Variant{"plain", {}, 0}, Variant{"recompute", {.recompute = Recompute::kSegment}, 0},
        Variant{"chunks_of_1", {.head_chunk_rows = 1}, 0},
        Variant{"chunks_of_5", {.head_chunk_rows = 5}, 0}, Variant{"strided", {}, 3},
        Variant{"recompute_strided", {.recompute = Recompute::kSegment, .head_chunk_rows = 3}, 5}),
    [](const auto& instance) { return instance.param.name; });

TEST(Llama, InferenceGivesTheLossesOfTrainingAndNoGradients) {
  const auto model = make_llama(small_config(false), {.head_chunk_rows = 4}, 5);
  const RankTokens tokens = random_tokens({6, 1, 4}, 13, 1);
  const PassResult inference =
      plain_pass(*model, tokens, {.lengths = {6, 1, 4}, .training = false});
  EXPECT_THAT(gradients_of(*model), Each(0.0f));
  const PassResult training = plain_pass(*model, tokens, {.lengths = {6, 1, 4}});
  EXPECT_TRUE(same_bits(inference.row_losses, training.row_losses));
  EXPECT_GT(largest(gradients_of(*model)), 0.0);
}

// Central differences of the loss in fp32; the step balances rounding against curvature, about 1e-3
// of the largest.
void expect_finite_differences(LlamaModel& model, const RankTokens& tokens,
                               const std::vector<int64_t>& lengths, const ParameterInfo& info,
                               Rng& rng) {
  for (int draw = 0; draw < 3; ++draw) {
    const auto at = static_cast<size_t>(info.offset + uniform_between(rng, 0, info.elements - 1));
    float& weight = model.flat_parameters()[at];
    const float before = weight;
    const float step = 4e-3f;
    weight = before + step;
    const double above =
        plain_pass(model, tokens, {.lengths = lengths, .training = false}).loss_sum();
    weight = before - step;
    const double below =
        plain_pass(model, tokens, {.lengths = lengths, .training = false}).loss_sum();
    weight = before;
    const double slope = (above - below) / (2.0 * step);
    EXPECT_NEAR(model.flat_gradients()[at], slope, 5e-3 * (1 + std::abs(slope))) << info.name;
  }
}

class EveryHead : public testing::TestWithParam<bool> {};

TEST_P(EveryHead, GradientsAreTheSlopesOfTheLoss) {
  const uint64_t seed = 11;
  SCOPED_TRACE(cat("seed ", seed));
  const auto model = make_llama(small_config(/*tied=*/GetParam()), {.head_chunk_rows = 3}, seed);
  const std::vector<int64_t> lengths = {5, 1, 4};
  const RankTokens tokens = random_tokens(lengths, 13, seed);
  plain_pass(*model, tokens, {.lengths = lengths});
  Rng rng(seed);
  for (const ParameterInfo& info : model->parameters()) {
    EXPECT_GT(largest({model->flat_gradients().begin() + info.offset,
                       model->flat_gradients().begin() + info.offset + info.elements}),
              1e-3)
        << info.name;
    expect_finite_differences(*model, tokens, lengths, info, rng);
  }
}

INSTANTIATE_TEST_SUITE_P(Llama, EveryHead, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "tied" : "untied"; });

TEST(Llama, GradientsAccumulateInPlaceOverPasses) {
  const auto model = make_llama(small_config(true), {}, 5);
  const RankTokens tokens = random_tokens({8}, 13, 2);
  plain_pass(*model, tokens, {.lengths = {8}});
  const std::vector<float> once = gradients_of(*model);
  plain_pass(*model, tokens, {.lengths = {8}});
  std::vector<float> twice = gradients_of(*model);
  for (float& value : twice) value /= 2;
  expect_close(twice, once, 1e-6);
}

TEST(Llama, SameInputsGiveTheSameBits) {
  set_model_threads(2);
  ModelConfig config = small_config(true);
  config.hidden_size = 96;
  config.intermediate_size = 160;
  config.vocab_size = 50;  // many rows share a token
  const std::vector<int64_t> lengths = {90, 33, 1, 60};
  const RankTokens tokens = random_tokens(lengths, 50, 3);
  const auto model = make_llama(config, {.head_chunk_rows = 64}, 5);
  const PassResult first = plain_pass(*model, tokens, {.lengths = lengths});
  const std::vector<float> gradients = gradients_of(*model);
  for (int again = 0; again < 3; ++again) {
    clear_gradients(*model);
    const PassResult next = plain_pass(*model, tokens, {.lengths = lengths});
    EXPECT_TRUE(same_bits(first.row_losses, next.row_losses));
    EXPECT_TRUE(same_bits(gradients, gradients_of(*model)));
  }
  set_model_threads(1);
}

TEST(Llama, RecomputeGivesTheSameBits) {
  const std::vector<int64_t> lengths = {9, 4};
  const RankTokens tokens = random_tokens(lengths, 13, 4);
  const auto keep = make_llama(small_config(false), {}, 5);
  const auto again = make_llama(small_config(false), {.recompute = Recompute::kSegment}, 5);
  plain_pass(*keep, tokens, {.lengths = lengths});
  plain_pass(*again, tokens, {.lengths = lengths});
  EXPECT_TRUE(same_bits(gradients_of(*keep), gradients_of(*again)));
}

// A shard that starts inside its document must give the q, k, v that the whole document gives for
// those rows.
TEST(Llama, PositionsInsideADocumentGiveTheSameRows) {
  const auto model = make_llama(small_config(false), {}, 5);
  const RankTokens whole = random_tokens({9}, 13, 6);
  RankTokens part;
  part.ids.assign(whole.ids.begin() + 4, whole.ids.end());
  part.positions.assign(whole.positions.begin() + 4, whole.positions.end());
  part.targets.assign(whole.targets.begin() + 4, whole.targets.end());
  PlainAttention all(*model, 9, 0);
  PlainAttention tail(*model, 5, 0);
  model->start(whole, 1, false)->forward(0, {}, all.qkv());
  model->start(part, 1, false)->forward(0, {}, tail.qkv());
  const auto tail_of = [](const Rows& rows) {
    return std::vector<float>(rows.values.begin() + 4 * rows.view.row_stride, rows.values.end());
  };
  expect_close(tail.q.values, tail_of(all.q), 1e-6);
  expect_close(tail.k.values, tail_of(all.k), 1e-6);
  expect_close(tail.v.values, tail_of(all.v), 1e-6);
}

TEST(Llama, TwoPassesAliveAtOnceDoNotMix) {
  const auto model = make_llama(small_config(false), {}, 5);
  const RankTokens a = random_tokens({5}, 13, 7);
  const RankTokens b = random_tokens({8}, 13, 8);
  PlainAttention layer_a(*model, 5, 0);
  PlainAttention layer_b(*model, 8, 0);
  const auto run_a = model->start(a, 1, true);
  const auto run_b = model->start(b, 1, true);
  run_a->forward(0, {}, layer_a.qkv());
  run_b->forward(0, {}, layer_b.qkv());
  PlainAttention alone(*model, 5, 0);
  model->start(a, 1, true)->forward(0, {}, alone.qkv());
  EXPECT_TRUE(same_bits(layer_a.q.values, alone.q.values));
}

TEST(Llama, ARankWithoutTokensComputesNothing) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSegment}) {
    const auto model = make_llama(small_config(false), {.recompute = recompute}, 5);
    const PassResult result = plain_pass(*model, RankTokens{}, {.lengths = {}});
    EXPECT_TRUE(result.row_losses.empty());
    EXPECT_EQ(result.first_bad_row, -1);
    EXPECT_THAT(gradients_of(*model), Each(0.0f));
  }
}

TEST(Llama, RowsWithoutTargetsHaveNoLossAndNoGradient) {
  const auto model = make_llama(small_config(false), {}, 5);
  const RankTokens tokens = random_tokens({1, 1, 1}, 13, 9);
  const PassResult result = plain_pass(*model, tokens, {.lengths = {1, 1, 1}, .loss_scale = 0});
  EXPECT_THAT(result.row_losses, testing::ElementsAre(0.0f, 0.0f, 0.0f));
  EXPECT_THAT(gradients_of(*model), Each(0.0f));
}

TEST(Llama, LossScaleZeroKeepsLossesAndGivesNoGradient) {
  const auto model = make_llama(small_config(false), {}, 5);
  const PassResult result =
      plain_pass(*model, random_tokens({6}, 13, 9), {.lengths = {6}, .loss_scale = 0});
  EXPECT_GT(result.loss_sum(), 1.0);
  EXPECT_THAT(gradients_of(*model), Each(0.0f));
}

TEST(Llama, ReportsTheFirstRowWithABadGradient) {
  const auto model = make_llama(small_config(false), {}, 5);
  const RankTokens tokens = tokens_of_documents({1, 2, 3, 4, 5}, {3, 2});
  const ParameterInfo& table = parameter(*model, "model.embed_tokens.weight");
  // The token of row 4 only: its own document is poisoned from row 4 on, backwards to row 3 through
  // the loss of no one.
  model->flat_parameters()[static_cast<size_t>(table.offset + 4 * 10)] =
      std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(plain_pass(*model, tokens, {.lengths = {3, 2}}).first_bad_row, 3);
}

TEST(Llama, BFloat16ViewsAreReadAndWritten) {
  const auto model = make_llama(small_config(false), {}, 5);
  const RankTokens tokens = random_tokens({3}, 13, 9);
  PlainAttention exact(*model, 3, 0);
  model->start(tokens, 1, false)->forward(0, {}, exact.qkv());
  std::vector<uint16_t> q(3 * 24), k(3 * 12), v(3 * 12);
  const auto half = [](std::vector<uint16_t>& data, int64_t heads) {
    return contiguous_rows(data.data(), Dtype::kBFloat16, 3, heads, 6);
  };
  model->start(tokens, 1, false)->forward(0, {}, {half(q, 4), half(k, 2), half(v, 2)});
  for (size_t i = 0; i < q.size(); ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(q[i]) << 16);
    EXPECT_NEAR(value, exact.q.values[i], std::abs(exact.q.values[i]) / 256) << i;
  }
}

TEST(Llama, TokensOutsideTheVocabularyAreNamed) {
  const auto model = make_llama(small_config(false), {}, 5);
  EXPECT_THAT(
      [&] {
        model->start(tokens_of_documents({1, 2, 13}, {3}), 1, true);
      },
      ThrowsMessage<DataError>(HasSubstr("target of row 1")));
  EXPECT_THAT([&] { model->start(tokens_of_documents({-1}, {1}), 1, true); },
              ThrowsMessage<DataError>(HasSubstr("token of row 0")));
}

TEST(Llama, SegmentsOutOfOrderAreOurBug) {
  const auto model = make_llama(small_config(false), {}, 5);
  const auto run = model->start(random_tokens({3}, 13, 1), 1, true);
  EXPECT_THROW(run->forward(1, {}, {}), InternalError);
  EXPECT_THROW(run->backward(2, {}, {}), InternalError);
  EXPECT_THROW(model->start(RankTokens{}, 1, false)->backward(2, {}, {}), InternalError);
}

}  // namespace
}  // namespace cadenza
