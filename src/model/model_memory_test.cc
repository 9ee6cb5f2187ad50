#include <gtest/gtest.h>

#include "base/memory.h"
#include "model/llama.h"
#include "model/plain_pass_test.h"

namespace cadenza {
namespace {

// Before the first tensor of this program.
const bool kCounted = [] {
  count_model_memory();
  return true;
}();

constexpr int64_t kVocab = 20'000;
constexpr int64_t kHidden = 8;

ModelConfig wide_vocabulary() {
  ModelConfig config;
  config.vocab_size = kVocab;
  config.hidden_size = kHidden;
  config.intermediate_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 2;
  return config;
}

// Bytes above what the model itself holds, at the worst moment of one pass over `rows` rows.
int64_t peak_of_pass(const ModelConfig& config, int64_t rows, const ModelOptions& options,
                     bool training) {
  const auto model = make_llama(config, options, 1);
  std::vector<int64_t> ids(static_cast<size_t>(rows), 7);
  std::vector<int64_t> lengths(static_cast<size_t>(rows / 4), 4);
  const RankTokens tokens = tokens_of_documents(ids, lengths);
  const int64_t before = MemoryCounter::current_bytes();
  MemoryCounter::reset_peak();
  plain_pass(*model, tokens, {.lengths = lengths, .training = training});
  EXPECT_EQ(MemoryCounter::current_bytes(), before) << "a pass leaves nothing behind";
  return MemoryCounter::peak_bytes() - before;
}

TEST(ModelMemory, LibtorchsTensorsAreCounted) {
  ASSERT_TRUE(kCounted);
  EXPECT_GT(peak_of_pass(wide_vocabulary(), 64, {}, true), 64 * kHidden * 4);
}

TEST(ModelMemory, PeakDoesNotGrowWithRowsTimesVocabulary) {
  constexpr int64_t kChunk = 16;
  const int64_t chunk_bytes = kChunk * kVocab * 4;
  for (const bool training : {false, true}) {
    const int64_t few = peak_of_pass(wide_vocabulary(), 64, {.head_chunk_rows = kChunk}, training);
    const int64_t many =
        peak_of_pass(wide_vocabulary(), 512, {.head_chunk_rows = kChunk}, training);
    EXPECT_GE(few, chunk_bytes) << "the logits of a chunk are counted";
    EXPECT_LT(many, 3 * chunk_bytes) << "all logits would be " << 512 * kVocab * 4;
  }
}

// Two floats an element; a model in bf16 has rounded copies besides.
TEST(ModelMemory, ModelsHoldParametersAndGradientsOnly) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    const int64_t before = MemoryCounter::current_bytes();
    const auto model = make_llama(wide_vocabulary(), {.dtype = dtype}, 1);
    const auto elements = static_cast<int64_t>(model->flat_parameters().size());
    const int64_t expected = (dtype == Dtype::kFloat32 ? 8 : 10) * elements;
    EXPECT_LE(MemoryCounter::current_bytes() - before, expected + 4096);
    EXPECT_GE(MemoryCounter::current_bytes() - before, expected);
  }
}

// What a segment keeps is bf16 but for the norms' statistics; at the peak some of one segment's
// tensors are fp32.
TEST(ModelMemory, ActivationsInBf16TakeHalf) {
  ModelConfig config = wide_vocabulary();
  config.vocab_size = 16;
  config.hidden_size = config.intermediate_size = 64;
  config.num_hidden_layers = 12;
  const int64_t fp32 = peak_of_pass(config, 512, {}, true);
  const int64_t bf16 = peak_of_pass(config, 512, {.dtype = Dtype::kBFloat16}, true);
  EXPECT_LT(static_cast<double>(bf16), 0.55 * static_cast<double>(fp32));
}

TEST(ModelMemory, RecomputeKeepsLess) {
  ModelConfig config = wide_vocabulary();
  config.vocab_size = 16;
  config.hidden_size = config.intermediate_size = 32;
  config.num_hidden_layers = 6;
  const int64_t keep = peak_of_pass(config, 512, {}, true);
  const int64_t again = peak_of_pass(config, 512, {.recompute = Recompute::kSegment}, true);
  EXPECT_LT(again, keep / 2);
}

}  // namespace
}  // namespace cadenza
