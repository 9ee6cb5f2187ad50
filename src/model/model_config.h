#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"

namespace cadenza {

/// RoPE scaling of Llama 3 (wavelengths over low/high factors interpolated); the only kind besides
/// none.
struct Llama3RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_position_embeddings = 8192;
};

/// A Llama-type decoder, by Hugging Face's names and defaults.
struct ModelConfig {
  int64_t vocab_size = 258;
  int64_t hidden_size = 256;
  int64_t intermediate_size = 688;
  int64_t num_hidden_layers = 4;
  int64_t num_attention_heads = 4;
  int64_t num_key_value_heads = 4;
  int64_t head_dim = 0;  // 0: hidden_size / num_attention_heads
  int64_t max_position_embeddings = 131072;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  std::optional<Llama3RopeScaling> rope_scaling;
  /// Mistral's: a query sees itself and this many keys less one before it. None: all before it.
  std::optional<int64_t> sliding_window;
  bool tie_word_embeddings = false;
  double initializer_range = 0.02;

  int64_t resolved_head_dim() const {
    return head_dim > 0 ? head_dim : hidden_size / num_attention_heads;
  }
};

/// Throws ConfigError naming the field, the constraint and the nearest legal value (heads not
/// divisible by kv heads, odd head_dim, sizes < 1, ...).
void check_model_config(const ModelConfig& config);

/// Reads a Hugging Face config.json of a Llama or Mistral model. What Cadenza cannot do exactly
/// (another model_type, attention or MLP bias, another activation, a sliding window of a Llama,
/// other RoPE scaling, quantisation) is a DataError naming the key.
ModelConfig model_config_from_json(const Json& json, const std::string& where);

Json model_config_to_json(const ModelConfig& config);

}  // namespace cadenza
