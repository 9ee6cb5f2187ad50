#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cat.h"
#include "base/error.h"
#include "base/json.h"
#include "model/parameters.h"
#include "model/safetensors.h"

namespace cadenza {
namespace {

const char* const kHead = "lm_head.weight";

std::string shape_text(const std::vector<int64_t>& shape) { return Json(shape).dump(); }

void load_one(const std::string& path, const SafetensorsFile& file, const ParameterInfo& info,
              std::span<float> out) {
  const auto found = file.tensors().find(info.name);
  if (found == file.tensors().end()) {
    throw DataError(cat("[model] ", path, ": expected a tensor ", info.name, " of shape ",
                        shape_text(info.shape),
                        ", got none; do config.json and weights belong together?"));
  }
  if (found->second.shape != info.shape) {
    throw DataError(cat("[model] ", path, ": tensor ", info.name, ": expected shape ",
                        shape_text(info.shape), " by config.json, got ",
                        shape_text(found->second.shape), "; do they belong together?"));
  }
  try {
    copy_as_float(found->second, info.name, out.data());
  } catch (const DataError& error) {
    throw DataError(cat(error.what(), " (in ", path, ")"));
  }
}

// Old exports stored RoPE's frequencies, which follow from config.json.
bool is_rope_buffer(const std::string& name) {
  return name.starts_with("model.layers.") && name.ends_with(".self_attn.rotary_emb.inv_freq");
}

void refuse_leftovers(const std::string& path, const SafetensorsFile& file,
                      const std::vector<ParameterInfo>& parameters, bool tied) {
  std::set<std::string> known;
  for (const ParameterInfo& info : parameters) known.insert(info.name);
  for (const auto& [name, tensor] : file.tensors()) {
    if (known.contains(name) || is_rope_buffer(name) || (tied && name == kHead)) continue;
    throw DataError(cat("[model] ", path, ": expected only the tensors of a Llama model of ",
                        "config.json's size, got also ", name,
                        "; do config.json and weights belong together?"));
  }
}

// Some exports of tied models store the head again; only an equal copy means the same model.
void check_tied_head(const std::string& path, const SafetensorsFile& file,
                     const ParameterInfo& embedding, std::span<const float> values) {
  const auto found = file.tensors().find(kHead);
  if (found == file.tensors().end()) return;
  const bool equal = found->second.shape == embedding.shape &&
                     std::ranges::equal(read_as_float(found->second, kHead), values);
  if (!equal) {
    throw DataError(cat("[model] ", path, ": expected ", kHead, " equal to ", embedding.name,
                        " because tie_word_embeddings is true, got other values; set it to false"));
  }
}

}  // namespace

void load_parameters(const std::string& path, const ModelConfig& config,
                     const std::vector<ParameterInfo>& parameters, std::span<float> flat) {
  const SafetensorsFile file(path);
  for (const ParameterInfo& info : parameters) {
    load_one(path, file, info,
             flat.subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.elements)));
  }
  refuse_leftovers(path, file, parameters, config.tie_word_embeddings);
  if (config.tie_word_embeddings) {
    const ParameterInfo& embedding = parameters[embedding_index()];
    check_tied_head(path, file, embedding, flat.first(static_cast<size_t>(embedding.elements)));
  }
}

}  // namespace cadenza
