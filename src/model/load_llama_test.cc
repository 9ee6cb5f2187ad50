#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/llama.h"
#include "model/plain_pass_test.h"
#include "model/safetensors.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Odd in every way that is legal: hidden size no multiple of the heads, tied, llama3 RoPE, more
// than ten layers.
ModelConfig odd_config() {
  ModelConfig config;
  config.vocab_size = 17;
  config.hidden_size = 20;
  config.intermediate_size = 9;
  config.num_hidden_layers = 12;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 6;
  config.rope_theta = 500000;
  config.rope_scaling = Llama3RopeScaling{};
  config.tie_word_embeddings = true;
  return config;
}

struct Stored {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using Checkpoint = std::map<std::string, Stored>;  // in the order of text: layer 10 before layer 2

std::string folder_for(const std::string& name) {
  const std::string folder = testing::TempDir() + "/cadenza_load_" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void write_checkpoint(const std::string& folder, const ModelConfig& config,
                      const Checkpoint& tensors) {
  Json header;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  write_file(folder + "/model.safetensors", bytes + text + data);
  write_file(folder + "/config.json", model_config_to_json(config).dump());
}

// The upper halves of fp32 values.
std::string bf16_bytes(std::span<const float> values) {
  std::string bytes;
  for (const float value : values) {
    const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    bytes.append(reinterpret_cast<const char*>(&half), 2);
  }
  return bytes;
}

std::span<const float> values_of(LlamaModel& model, const ParameterInfo& info) {
  return model.flat_parameters().subspan(static_cast<size_t>(info.offset),
                                         static_cast<size_t>(info.elements));
}

Checkpoint bf16_checkpoint(LlamaModel& model) {
  Checkpoint tensors;
  for (const ParameterInfo& info : model.parameters()) {
    tensors[info.name] = {"BF16", info.shape, bf16_bytes(values_of(model, info))};
  }
  return tensors;
}

void truncate_to_bf16(LlamaModel& model) {
  for (float& value : model.flat_parameters()) {
    value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffff0000u);
  }
}

TEST(LoadLlama, LoadsAnOddTiedBFloat16CheckpointExactly) {
  const auto model = make_llama(odd_config(), {}, 4);
  truncate_to_bf16(*model);
  const std::string folder = folder_for("odd");
  write_checkpoint(folder, odd_config(), bf16_checkpoint(*model));
  const auto loaded = load_llama(folder, {});
  ASSERT_EQ(loaded->flat_parameters().size(), model->flat_parameters().size());
  EXPECT_EQ(std::memcmp(loaded->flat_parameters().data(), model->flat_parameters().data(),
                        model->flat_parameters().size_bytes()),
            0);
  const RankTokens tokens = tokens_of_documents({1, 16, 0, 5, 5, 2, 9}, {4, 3});
  const auto losses = [&](LlamaModel& of) {
    return plain_pass(of, tokens, {.lengths = {4, 3}}).row_losses;
  };
  EXPECT_EQ(losses(*loaded), losses(*model));
  std::filesystem::remove_all(folder);
}

TEST(LoadLlama, WrittenModelsLoadToTheBit) {
  ModelConfig config = odd_config();
  config.tie_word_embeddings = false;
  config.rope_scaling.reset();
  const auto model = make_llama(config, {}, 4);
  std::vector<FloatTensor> tensors;
  for (const ParameterInfo& info : model->parameters()) {
    tensors.push_back({info.name, info.shape, values_of(*model, info).data()});
  }
  const std::string folder = folder_for("written");
  write_safetensors(folder + "/model.safetensors", tensors);
  write_file(folder + "/config.json", model_config_to_json(config).dump());
  const auto loaded = load_llama(folder, {});
  EXPECT_EQ(std::memcmp(loaded->flat_parameters().data(), model->flat_parameters().data(),
                        model->flat_parameters().size_bytes()),
            0);
  EXPECT_EQ(model_config_to_json(loaded->config()), model_config_to_json(config));
  std::filesystem::remove_all(folder);
}

struct Change {
  const char* name;
  std::function<void(Checkpoint&)> apply;
  std::vector<const char*> words;  // that the message must hold; none: it must load
};

TEST(LoadLlama, RefusesByNameWhatDoesNotFit) {
  const std::string norm = "model.layers.10.input_layernorm.weight";
  const std::string table = "model.embed_tokens.weight";
  const Change changes[] = {
      {"missing", [&](Checkpoint& c) { c.erase(norm); }, {"layers.10.input_layernorm", "[20]"}},
      {"misshapen",
       [&](Checkpoint& c) {
         c[norm].shape = {4, 5};
       },
       {"layers.10.input", "[20]", "[4,5]"}},
      {"transposed",
       [&](Checkpoint& c) {
         c[table].shape = {20, 17};
       },
       {"embed_tokens", "[17,20]"}},
      {"leftover",
       [&](Checkpoint& c) { c["model.layers.12.input_layernorm.weight"] = c[norm]; },
       {"model.layers.12.input_layernorm.weight"}},
      {"bias",
       [&](Checkpoint& c) { c["model.layers.0.self_attn.q_proj.bias"] = c[norm]; },
       {"q_proj.bias"}},
      {"half", [&](Checkpoint& c) { c[norm].dtype = "F16"; }, {"layers.10.input", "F16"}},
      {"rope_buffer",
       [&](Checkpoint& c) { c["model.layers.3.self_attn.rotary_emb.inv_freq"] = c[norm]; },
       {}},
      {"equal_head", [&](Checkpoint& c) { c["lm_head.weight"] = c[table]; }, {}},
      {"other_head",
       [&](Checkpoint& c) { c["lm_head.weight"] = c[table], c["lm_head.weight"].bytes[3] ^= 1; },
       {"lm_head.weight", "tie_word_embeddings"}},
  };
  const auto model = make_llama(odd_config(), {}, 4);
  const std::string folder = folder_for("changes");
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    Checkpoint tensors = bf16_checkpoint(*model);
    change.apply(tensors);
    write_checkpoint(folder, odd_config(), tensors);
    if (change.words.empty()) {
      EXPECT_NO_THROW(load_llama(folder, {}));
    }
    for (const char* word : change.words) {
      EXPECT_THAT([&] { load_llama(folder, {}); },
                  ThrowsMessage<DataError>(AllOf(HasSubstr(word), HasSubstr("model.safetensors"))));
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(LoadLlama, AnUntiedHeadMustBeThere) {
  const auto model = make_llama(odd_config(), {}, 4);
  ModelConfig config = odd_config();
  config.tie_word_embeddings = false;
  const std::string folder = folder_for("headless");
  write_checkpoint(folder, config, bf16_checkpoint(*model));
  EXPECT_THAT([&] { load_llama(folder, {}); },
              ThrowsMessage<DataError>(HasSubstr("lm_head.weight")));
  std::filesystem::remove_all(folder);
}

TEST(LoadLlama, MissingFilesAreNamed) {
  const std::string folder = folder_for("files");
  EXPECT_THAT([&] { load_llama(folder, {}); }, ThrowsMessage<DataError>(HasSubstr("config.json")));
  write_file(folder + "/config.json", model_config_to_json(odd_config()).dump());
  EXPECT_THAT([&] { load_llama(folder, {}); },
              ThrowsMessage<DataError>(HasSubstr(folder + "/model.safetensors")));
  write_file(folder + "/model.safetensors.index.json", "{}");
  EXPECT_THAT([&] { load_llama(folder, {}); },
              ThrowsMessage<DataError>(HasSubstr("model.safetensors.index.json")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cadenza
