#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

ModelConfig read(const std::string& text) {
  return model_config_from_json(parse_json(text, "config.json"), "config.json");
}

TEST(ModelConfig, AbsentKeysHaveHuggingFacesDefaults) {
  const ModelConfig llama = read(R"({"model_type": "llama"})");
  EXPECT_EQ(llama.vocab_size, 32000);
  EXPECT_EQ(llama.hidden_size, 4096);
  EXPECT_EQ(llama.intermediate_size, 11008);
  EXPECT_EQ(llama.num_hidden_layers, 32);
  EXPECT_EQ(llama.num_attention_heads, 32);
  EXPECT_EQ(llama.num_key_value_heads, 32);
  EXPECT_EQ(llama.resolved_head_dim(), 128);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.rms_norm_eps, 1e-6);
  EXPECT_EQ(llama.rope_theta, 10000.0);
  EXPECT_FALSE(llama.rope_scaling.has_value());
  EXPECT_FALSE(llama.tie_word_embeddings);
  const ModelConfig mistral = read(R"({"model_type": "mistral", "sliding_window": null})");
  EXPECT_EQ(mistral.num_key_value_heads, 8);
  EXPECT_EQ(mistral.intermediate_size, 14336);
}

TEST(ModelConfig, KvHeadsFollowHeadsWhenAbsentOrNull) {
  for (const char* kv : {"", R"(, "num_key_value_heads": null)"}) {
    const ModelConfig config =
        read(std::string(R"({"model_type": "llama", "num_attention_heads": 16)") + kv +
             R"(, "head_dim": null})");
    EXPECT_EQ(config.num_key_value_heads, 16);
    EXPECT_EQ(config.resolved_head_dim(), 256);
  }
}

TEST(ModelConfig, ReadsLlama3RopeInBothForms) {
  const char* const files[] = {
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "rope_theta": 500000.0, "rope_scaling":
          {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 4096}})",
      R"({"model_type": "llama", "dtype": "bfloat16", "rope_parameters":
          {"rope_type": "llama3", "rope_theta": 500000, "factor": 32.0, "low_freq_factor": 1.0,
           "high_freq_factor": 4.0, "original_max_position_embeddings": 4096}})"};
  for (const char* file : files) {
    const ModelConfig config = read(file);
    EXPECT_EQ(config.rope_theta, 500000.0) << file;
    ASSERT_TRUE(config.rope_scaling.has_value()) << file;
    EXPECT_EQ(config.rope_scaling->factor, 32.0);
    EXPECT_EQ(config.rope_scaling->original_max_position_embeddings, 4096);
  }
}

TEST(ModelConfig, DefaultRopeIsNoScalingInEveryForm) {
  for (const char* rope : {R"("rope_scaling": null)", R"("rope_scaling": {"type": "default"})",
                           R"("rope_scaling": {"rope_type": "default"})",
                           R"("rope_parameters": {"rope_type": "default", "rope_theta": 10000.0})",
                           R"("rope_parameters": {"rope_theta": 10000.0})"}) {
    const ModelConfig config = read(std::string(R"({"model_type": "llama", )") + rope + "}");
    EXPECT_FALSE(config.rope_scaling.has_value()) << rope;
    EXPECT_EQ(config.rope_theta, 10000.0) << rope;
  }
}

struct Refusal {
  const char* key;   // that the message must name
  const char* text;  // members beside model_type llama
};

TEST(ModelConfig, RefusesByNameWhatItCannotComputeExactly) {
  const Refusal refusals[] = {
      {"attention_bias", R"("attention_bias": true)"},
      {"mlp_bias", R"("mlp_bias": true)"},
      {"hidden_act", R"("hidden_act": "gelu")"},
      {"sliding_window", R"("sliding_window": 4096)"},
      {"layer_types", R"("layer_types": ["full_attention", "sliding_attention"])"},
      {"quantization_config", R"("quantization_config": {"quant_method": "fp8"})"},
      {"attention_dropout", R"("attention_dropout": 0.1)"},
      {"partial_rotary_factor", R"("partial_rotary_factor": 0.5)"},
      {"partial_rotary_factor", R"("rope_parameters": {"partial_rotary_factor": 0.5})"},
      {"rope_scaling.rope_type", R"("rope_scaling": {"type": "linear", "factor": 2.0})"},
      {"rope_scaling.rope_type", R"("rope_scaling": {"type": "dynamic", "factor": 2.0})"},
      {"rope_scaling.rope_type", R"("rope_scaling": {"rope_type": "yarn", "factor": 2.0})"},
      {"rope_scaling.rope_type", R"("rope_scaling": {"rope_type": "longrope"})"},
      {"rope_scaling.rope_type", R"("rope_scaling": {"factor": 2.0})"},
      {"rope_parameters.rope_type", R"("rope_parameters": {"rope_type": "yarn"})"},
      {"rope_scaling.low_freq_factor", R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0})"},
      {"rope_theta", R"("rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0})"},
      {"rope_scaling", R"("rope_scaling": 3)"},
      {"hidden_size", R"("hidden_size": "big")"},
      {"hidden_size", R"("hidden_size": 64.5)"},
      {"hidden_size", R"("hidden_size": 0)"},
      {"vocab_size", R"("vocab_size": -1)"},
      {"num_key_value_heads", R"("num_key_value_heads": 5)"},
      {"head_dim", R"("head_dim": 0)"},
      {"tie_word_embeddings", R"("tie_word_embeddings": 1)"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string text = std::string(R"({"model_type": "llama", )") + refusal.text + "}";
    EXPECT_THAT([&] { read(text); },
                ThrowsMessage<DataError>(AllOf(HasSubstr(refusal.key), HasSubstr("config.json"))))
        << text;
  }
}

TEST(ModelConfig, RefusesOtherModels) {
  EXPECT_THAT([] { read(R"({"model_type": "qwen2"})"); },
              ThrowsMessage<DataError>(AllOf(HasSubstr("model_type"), HasSubstr("qwen2"))));
  EXPECT_THROW(read("{}"), DataError);
  EXPECT_THROW(read("[]"), DataError);
}

TEST(ModelConfig, ReadsMistralsWindow) {
  const auto window = [](const std::string& members) {
    return read(R"({"model_type": "mistral")" + members + "}").sliding_window;
  };
  EXPECT_EQ(window(""), 4096);  // Hugging Face's default
  EXPECT_EQ(window(R"(, "sliding_window": null)"), std::nullopt);
  EXPECT_EQ(window(R"(, "sliding_window": 7)"), 7);
  EXPECT_EQ(window(R"(, "sliding_window": 7, "layer_types": ["sliding_attention"])"), 7);
  for (const char* refused :
       {R"(, "sliding_window": 0)", R"(, "sliding_window": -1)", R"(, "sliding_window": "x")"}) {
    EXPECT_THAT([&] { window(refused); }, ThrowsMessage<DataError>(HasSubstr("sliding_window")));
  }
  EXPECT_THAT([&] { window(R"(, "layer_types": ["full_attention"])"); },
              ThrowsMessage<DataError>(HasSubstr("layer_types")));
}

TEST(ModelConfig, ToleratesWhatDoesNotChangeTheModel) {
  EXPECT_NO_THROW(read(R"({"model_type": "llama", "pretraining_tp": 2, "use_cache": true,
      "bos_token_id": 1, "quantization_config": null, "sliding_window": null,
      "layer_types": ["full_attention"], "hidden_act": "silu", "attention_dropout": 0.0})"));
}

TEST(ModelConfig, JsonRoundTrips) {
  ModelConfig config;
  config.head_dim = 6;
  config.num_key_value_heads = 2;
  config.rms_norm_eps = 3e-6;
  config.rope_theta = 123456.5;
  config.tie_word_embeddings = true;
  config.initializer_range = 0.01;
  config.sliding_window = 99;
  config.rope_scaling = {.factor = 7,
                         .low_freq_factor = 2,
                         .high_freq_factor = 5,
                         .original_max_position_embeddings = 99};
  const Json json = model_config_to_json(config);
  const ModelConfig back = model_config_from_json(json, "config.json");
  EXPECT_EQ(model_config_to_json(back), json);
  EXPECT_EQ(back.head_dim, 6);
  EXPECT_EQ(back.rope_scaling->original_max_position_embeddings, 99);
  config.rope_scaling.reset();
  EXPECT_FALSE(model_config_from_json(model_config_to_json(config), "x").rope_scaling.has_value());
}

struct Break {
  const char* field;
  const char* remedy;
  std::function<void(ModelConfig&)> apply;
};

TEST(CheckModelConfig, NamesFieldAndNearestLegalValue) {
  const Break breaks[] = {
      {"num_key_value_heads", "use 2",
       [](ModelConfig& c) { c.num_attention_heads = 4, c.num_key_value_heads = 3; }},
      {"num_key_value_heads", "use 4", [](ModelConfig& c) { c.num_key_value_heads = 8; }},
      {"head_dim", "use 8", [](ModelConfig& c) { c.head_dim = 7; }},
      {"hidden_size", "use 256", [](ModelConfig& c) { c.hidden_size = 257; }},
      {"num_hidden_layers", "use 1", [](ModelConfig& c) { c.num_hidden_layers = 0; }},
      {"rms_norm_eps", "> 0", [](ModelConfig& c) { c.rms_norm_eps = -1; }},
      {"rope_theta", "> 0", [](ModelConfig& c) { c.rope_theta = NAN; }},
      {"high_freq_factor", "above",
       [](ModelConfig& c) { c.rope_scaling = {.low_freq_factor = 4, .high_freq_factor = 4}; }},
  };
  EXPECT_NO_THROW(check_model_config(ModelConfig{}));
  for (const Break& item : breaks) {
    ModelConfig config;
    item.apply(config);
    EXPECT_THAT([&] { check_model_config(config); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr(item.field), HasSubstr(item.remedy))));
  }
}

}  // namespace
}  // namespace cadenza
