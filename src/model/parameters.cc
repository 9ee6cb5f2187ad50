#include "model/parameters.h"

#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "base/error.h"
#include "base/rng.h"

namespace cadenza {
namespace {

// Appends parameters end to end.
class Layout {
 public:
  void add(std::string name, std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (const int64_t dim : shape) elements *= dim;
    const bool matrix = shape.size() > 1;
    parameters_.push_back({.name = std::move(name),
                           .shape = std::move(shape),
                           .offset = offset_,
                           .elements = elements,
                           .weight_decay = matrix});
    offset_ += elements;
  }
  std::vector<ParameterInfo> take() { return std::move(parameters_); }

 private:
  std::vector<ParameterInfo> parameters_;
  int64_t offset_ = 0;
};

// In the order of LayerParameter.
void add_layer(Layout& layout, const ModelConfig& config, int64_t layer) {
  const std::string prefix = cat("model.layers.", layer, ".");
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  const int64_t q_width = config.num_attention_heads * config.resolved_head_dim();
  const int64_t kv_width = config.num_key_value_heads * config.resolved_head_dim();
  layout.add(prefix + "input_layernorm.weight", {hidden});
  layout.add(prefix + "self_attn.q_proj.weight", {q_width, hidden});
  layout.add(prefix + "self_attn.k_proj.weight", {kv_width, hidden});
  layout.add(prefix + "self_attn.v_proj.weight", {kv_width, hidden});
  layout.add(prefix + "self_attn.o_proj.weight", {hidden, q_width});
  layout.add(prefix + "post_attention_layernorm.weight", {hidden});
  layout.add(prefix + "mlp.gate_proj.weight", {inner, hidden});
  layout.add(prefix + "mlp.up_proj.weight", {inner, hidden});
  layout.add(prefix + "mlp.down_proj.weight", {hidden, inner});
}

// In double, which cannot overflow: sizes that no machine holds must not wrap round to some that it
// does.
void check_total(const ModelConfig& config) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto heads = static_cast<double>(config.num_attention_heads + config.num_key_value_heads);
  const auto attention = 2 * hidden * heads * static_cast<double>(config.resolved_head_dim());
  const auto mlp = 3 * hidden * static_cast<double>(config.intermediate_size);
  const auto ends = 2 * hidden * static_cast<double>(config.vocab_size);
  const double total = static_cast<double>(config.num_hidden_layers) * (attention + mlp) + ends;
  if (total > 0x1p53) {
    throw ConfigError(
        cat("[model] expected at most 2^53 parameters, got ", total,
            "; correct hidden_size, intermediate_size, vocab_size or num_hidden_layers"));
  }
}

// Box-Muller, because the standard library's normal_distribution differs between libraries. Two
// draws per pair of values; 53 random bits, shifted by half a step so that the logarithm is finite.
void fill_normal(std::span<float> out, double deviation, Rng& rng) {
  const auto uniform = [&rng] { return (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53; };
  for (size_t i = 0; i < out.size(); i += 2) {
    const double radius = deviation * std::sqrt(-2.0 * std::log(uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    out[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

std::vector<ParameterInfo> parameter_layout(const ModelConfig& config) {
  check_total(config);
  Layout layout;
  layout.add("model.embed_tokens.weight", {config.vocab_size, config.hidden_size});
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(layout, config, layer);
  }
  layout.add("model.norm.weight", {config.hidden_size});
  if (!config.tie_word_embeddings) {
    layout.add("lm_head.weight", {config.vocab_size, config.hidden_size});
  }
  return layout.take();
}

int64_t parameter_elements(const std::vector<ParameterInfo>& parameters) {
  return parameters.back().offset + parameters.back().elements;
}

void init_parameters(const ModelConfig& config, const std::vector<ParameterInfo>& parameters,
                     uint64_t seed, std::span<float> flat) {
  const double residual_scale =
      1.0 / std::sqrt(2.0 * static_cast<double>(config.num_hidden_layers));
  Rng rng(seed);
  for (const ParameterInfo& info : parameters) {
    const auto values =
        flat.subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.elements));
    const bool to_residual =
        info.name.ends_with("o_proj.weight") || info.name.ends_with("down_proj.weight");
    if (info.shape.size() == 1) {
      std::fill(values.begin(), values.end(), 1.0f);
    } else {
      fill_normal(values, config.initializer_range * (to_residual ? residual_scale : 1.0), rng);
    }
  }
}

}  // namespace cadenza
