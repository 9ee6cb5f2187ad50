#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/llama.h"

namespace cadenza {

/// Parameters of one decoder layer, in the order in which they lie in the flat buffers.
enum LayerParameter {
  kInputNorm,
  kQ,
  kK,
  kV,
  kO,
  kPostNorm,
  kGate,
  kUp,
  kDown,
  kLayerParameters  // how many there are
};

/// All parameters without gaps: embedding, layers in the order of numbers, final norm, head (absent
/// when tied).
std::vector<ParameterInfo> parameter_layout(const ModelConfig& config);

/// Places in that list.
constexpr size_t embedding_index() { return 0; }
constexpr size_t layer_index(int64_t layer, LayerParameter which) {
  return 1 + static_cast<size_t>(layer) * kLayerParameters + which;
}
constexpr size_t final_norm_index(int64_t layers) { return layer_index(layers, kInputNorm); }
/// Of the output projection: the embedding itself when tied.
constexpr size_t head_index(int64_t layers, bool tied) {
  return tied ? embedding_index() : final_norm_index(layers) + 1;
}

/// Elements of all parameters together.
int64_t parameter_elements(const std::vector<ParameterInfo>& parameters);

/// The initial values that make_llama promises.
void init_parameters(const ModelConfig& config, const std::vector<ParameterInfo>& parameters,
                     uint64_t seed, std::span<float> flat);

/// Fills `flat` from a safetensors file; the errors that load_llama promises.
void load_parameters(const std::string& path, const ModelConfig& config,
                     const std::vector<ParameterInfo>& parameters, std::span<float> flat);

}  // namespace cadenza
