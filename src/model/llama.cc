#include "model/llama.h"

#include <ATen/ATen.h>

#include <cstring>
#include <filesystem>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/llama_context.h"
#include "model/parameters.h"
#include "model/rope.h"

namespace cadenza {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

class LlamaModelOnHost final : public LlamaModel {
 public:
  LlamaModelOnHost(const ModelConfig& config, const LlamaOptions& options)
      : parameters_(parameter_layout(config)),
        values_(parameter_elements(parameters_) * kFloatBytes),
        gradients_(parameter_elements(parameters_) * kFloatBytes),
        context_{config, options, rope_inverse_frequencies(config), {}} {
    std::memset(gradients_.data(), 0, static_cast<size_t>(gradients_.bytes()));
    for (const ParameterInfo& info : parameters_) context_.weights.push_back(leaf(info));
  }

  const ModelConfig& config() const override { return context_.config; }
  const std::vector<ParameterInfo>& parameters() const override { return parameters_; }
  std::span<float> flat_parameters() override { return floats(values_); }
  std::span<float> flat_gradients() override { return floats(gradients_); }
  int layers() const override { return context_.layers(); }
  int64_t heads() const override { return context_.config.num_attention_heads; }
  int64_t kv_heads() const override { return context_.config.num_key_value_heads; }
  int64_t head_dim() const override { return context_.config.resolved_head_dim(); }
  Dtype dtype() const override { return Dtype::kFloat32; }

  std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double loss_scale,
                                    bool training) override {
    return start_llama_run(context_, tokens, loss_scale, training);
  }

 private:
  static std::span<float> floats(const HostBlock& block) {
    return {reinterpret_cast<float*>(block.data()),
            static_cast<size_t>(block.bytes() / kFloatBytes)};
  }

  at::Tensor leaf(const ParameterInfo& info) {
    at::Tensor value = at::from_blob(floats(values_).data() + info.offset, info.shape, at::kFloat);
    value.requires_grad_(true);
    value.mutable_grad() =
        at::from_blob(floats(gradients_).data() + info.offset, info.shape, at::kFloat);
    return value;
  }

  std::vector<ParameterInfo> parameters_;
  HostBlock values_;
  HostBlock gradients_;
  LlamaContext context_;
};

std::unique_ptr<LlamaModel> empty_model(const ModelConfig& config, const LlamaOptions& options) {
  check_model_config(config);
  if (options.head_chunk_rows < 1) {
    throw ConfigError(cat("[model] head_chunk_rows: expected a number >= 1, got ",
                          options.head_chunk_rows, "; use 1024"));
  }
  return std::make_unique<LlamaModelOnHost>(config, options);
}

}  // namespace

std::unique_ptr<LlamaModel> make_llama(const ModelConfig& config, const LlamaOptions& options,
                                       uint64_t seed) {
  auto model = empty_model(config, options);
  init_parameters(config, model->parameters(), seed, model->flat_parameters());
  return model;
}

std::unique_ptr<LlamaModel> load_llama(const std::string& folder, const LlamaOptions& options) {
  const std::string config_path = folder + "/config.json";
  const std::string weights_path = folder + "/model.safetensors";
  const ModelConfig config =
      model_config_from_json(parse_json(read_file(config_path), config_path), config_path);
  if (!std::filesystem::exists(weights_path) &&
      std::filesystem::exists(weights_path + ".index.json")) {
    throw DataError(cat("[model] ", folder,
                        ": expected one file model.safetensors, got weights in shards ",
                        "(model.safetensors.index.json), which this version does not read; ",
                        "join them into one file"));
  }
  auto model = empty_model(config, options);
  load_parameters(weights_path, config, model->parameters(), model->flat_parameters());
  return model;
}

}  // namespace cadenza
