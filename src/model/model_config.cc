#include "model/model_config.h"

#include <cmath>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

// Sizes index tensors as int64_t products of two; each below 2^31 keeps every product within 63
// bits.
constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;
// Layers are loops and names; no model has a hundredth of this.
constexpr int64_t kMostLayers = 100'000;

template <typename Value>
[[noreturn]] void refuse(const char* field, const std::string& expected, Value got,
                         const std::string& remedy) {
  throw ConfigError(cat("[model] ", field, ": expected ", expected, ", got ", got, "; ", remedy));
}

void check_size(const char* field, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return;
  refuse(field, cat("a number from ", lowest, " to ", highest), value,
         cat("use ", value < lowest ? lowest : highest));
}

void check_positive(const char* field, double value, double usual) {
  if (!(value > 0) || !std::isfinite(value)) {
    refuse(field, "a number > 0", value, cat("use ", usual));
  }
}

// The multiple of `step` nearest to `value`, at least one step.
int64_t nearest_multiple(int64_t value, int64_t step) {
  return std::max<int64_t>(1, (value + step / 2) / step) * step;
}

void check_sizes(const ModelConfig& config) {
  check_size("vocab_size", config.vocab_size, 1, kLargestSize);
  check_size("hidden_size", config.hidden_size, 1, kLargestSize);
  check_size("intermediate_size", config.intermediate_size, 1, kLargestSize);
  check_size("num_hidden_layers", config.num_hidden_layers, 1, kMostLayers);
  check_size("num_attention_heads", config.num_attention_heads, 1, kLargestSize);
  check_size("num_key_value_heads", config.num_key_value_heads, 1, kLargestSize);
  check_size("head_dim", config.head_dim, 0, kLargestSize);
  check_size("max_position_embeddings", config.max_position_embeddings, 1, int64_t{1} << 62);
}

void check_heads(const ModelConfig& config) {
  const int64_t heads = config.num_attention_heads;
  if (heads % config.num_key_value_heads != 0) {
    int64_t legal = std::min(config.num_key_value_heads, heads);
    while (heads % legal != 0) --legal;
    refuse("num_key_value_heads", cat("a divisor of num_attention_heads ", heads),
           config.num_key_value_heads, cat("use ", legal));
  }
  if (config.head_dim == 0 && config.hidden_size % heads != 0) {
    refuse("hidden_size",
           cat("a multiple of num_attention_heads ", heads, " when head_dim is not given"),
           config.hidden_size,
           cat("use ", nearest_multiple(config.hidden_size, heads), ", or give head_dim"));
  }
  const int64_t head_dim = config.resolved_head_dim();
  if (head_dim % 2 != 0) {
    refuse("head_dim", "an even number (RoPE turns pairs)", head_dim, cat("use ", head_dim + 1));
  }
  check_size("num_attention_heads * head_dim",
             heads > kLargestSize / head_dim ? kLargestSize + 1 : 1, 1, kLargestSize);
}

void check_rope_scaling(const Llama3RopeScaling& scaling) {
  check_positive("rope_scaling.factor", scaling.factor, 8);
  check_positive("rope_scaling.low_freq_factor", scaling.low_freq_factor, 1);
  check_positive("rope_scaling.high_freq_factor", scaling.high_freq_factor, 4);
  check_size("rope_scaling.original_max_position_embeddings",
             scaling.original_max_position_embeddings, 1, int64_t{1} << 62);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    refuse("rope_scaling.high_freq_factor",
           cat("a number above low_freq_factor ", scaling.low_freq_factor),
           scaling.high_freq_factor, cat("use ", 4 * scaling.low_freq_factor));
  }
}

}  // namespace

void check_model_config(const ModelConfig& config) {
  check_sizes(config);
  check_heads(config);
  check_positive("rms_norm_eps", config.rms_norm_eps, 1e-5);
  check_positive("rope_theta", config.rope_theta, 10000);
  check_positive("initializer_range", config.initializer_range, 0.02);
  if (config.rope_scaling) check_rope_scaling(*config.rope_scaling);
}

Json model_config_to_json(const ModelConfig& config) {
  Json rope_scaling;  // null
  if (config.rope_scaling) {
    rope_scaling = {{"rope_type", "llama3"},
                    {"factor", config.rope_scaling->factor},
                    {"low_freq_factor", config.rope_scaling->low_freq_factor},
                    {"high_freq_factor", config.rope_scaling->high_freq_factor},
                    {"original_max_position_embeddings",
                     config.rope_scaling->original_max_position_embeddings}};
  }
  Json sizes = {{"architectures", {"LlamaForCausalLM"}},
                {"model_type", "llama"},
                {"vocab_size", config.vocab_size},
                {"hidden_size", config.hidden_size},
                {"intermediate_size", config.intermediate_size},
                {"num_hidden_layers", config.num_hidden_layers},
                {"num_attention_heads", config.num_attention_heads},
                {"num_key_value_heads", config.num_key_value_heads},
                {"head_dim", config.resolved_head_dim()},
                {"max_position_embeddings", config.max_position_embeddings},
                {"hidden_act", "silu"},
                {"attention_bias", false},
                {"mlp_bias", false},
                {"rms_norm_eps", config.rms_norm_eps},
                {"rope_theta", config.rope_theta},
                {"rope_scaling", rope_scaling},
                {"tie_word_embeddings", config.tie_word_embeddings},
                {"initializer_range", config.initializer_range},
                {"torch_dtype", "float32"}};
  if (config.sliding_window) {
    sizes["architectures"] = {"MistralForCausalLM"};
    sizes["model_type"] = "mistral";
    sizes["sliding_window"] = *config.sliding_window;
  }
  return sizes;
}

}  // namespace cadenza
