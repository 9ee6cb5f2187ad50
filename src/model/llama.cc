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
  LlamaModelOnHost(const ModelConfig& config, const ModelOptions& options)
      : parameters_(parameter_layout(config)),
        values_(parameter_elements(parameters_) * kFloatBytes),
        gradients_(parameter_elements(parameters_) * kFloatBytes),
        context_{config, options, rope_inverse_frequencies(config), {}, {}} {
    std::memset(gradients_.data(), 0, static_cast<size_t>(gradients_.bytes()));
    if (options.dtype != Dtype::kFloat32) {
      rounded_ = HostBlock(parameter_elements(parameters_) * dtype_bytes(options.dtype));
    }
    for (const ParameterInfo& info : parameters_) add_leaf(info);
  }

  const ModelConfig& config() const override { return context_.config; }
  const std::vector<ParameterInfo>& parameters() const override { return parameters_; }
  std::span<float> flat_parameters() override { return floats(values_); }
  std::span<float> flat_gradients() override { return floats(gradients_); }
  int layers() const override { return context_.layers(); }
  int64_t heads() const override { return context_.config.num_attention_heads; }
  int64_t kv_heads() const override { return context_.config.num_key_value_heads; }
  int64_t head_dim() const override { return context_.config.resolved_head_dim(); }
  Dtype dtype() const override { return context_.options.dtype; }
  std::vector<Mask> masks() const override {
    const auto& window = context_.config.sliding_window;
    if (!window) return {Mask{}};
    return {Mask{.kind = Mask::Kind::kWindow, .window = *window, .explicit_pieces = {}}};
  }

  std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double loss_scale,
                                    bool training) override {
    round_parameters();
    return start_llama_run(context_, tokens, loss_scale, training);
  }

 private:
  static std::span<float> floats(const HostBlock& block) {
    return {reinterpret_cast<float*>(block.data()),
            static_cast<size_t>(block.bytes() / kFloatBytes)};
  }

  // What the leaves lie over.
  const HostBlock& weights() const { return rounded_.bytes() > 0 ? rounded_ : values_; }

  void add_leaf(const ParameterInfo& info) {
    std::byte* const data = weights().data() + info.offset * dtype_bytes(dtype());
    at::Tensor value = at::from_blob(data, info.shape, context_.type());
    value.requires_grad_(true);
    context_.gradients.push_back(
        at::from_blob(floats(gradients_).data() + info.offset, info.shape, at::kFloat));
    if (dtype() == Dtype::kFloat32) value.mutable_grad() = context_.gradients.back();
    context_.weights.push_back(std::move(value));
  }

  // Behind autograd's back: passes that are alive hold the same values, because parameters change
  // between steps only.
  void round_parameters() {
    if (rounded_.bytes() == 0) return;
    const std::vector<int64_t> size = {static_cast<int64_t>(floats(values_).size())};
    at::from_blob(rounded_.data(), size, context_.type())
        .copy_(at::from_blob(values_.data(), size, at::kFloat));
  }

  std::vector<ParameterInfo> parameters_;
  HostBlock values_;
  HostBlock rounded_;  // of a bf16 model
  HostBlock gradients_;
  LlamaContext context_;
};

std::unique_ptr<LlamaModel> empty_model(const ModelConfig& config, const ModelOptions& options) {
  check_model_config(config);
  if (options.head_chunk_rows < 1) {
    throw ConfigError(cat("[model] head_chunk_rows: expected a number >= 1, got ",
                          options.head_chunk_rows, "; use 1024"));
  }
  return std::make_unique<LlamaModelOnHost>(config, options);
}

}  // namespace

std::unique_ptr<LlamaModel> make_llama(const ModelConfig& config, const ModelOptions& options,
                                       uint64_t seed) {
  auto model = empty_model(config, options);
  init_parameters(config, model->parameters(), seed, model->flat_parameters());
  return model;
}

std::unique_ptr<LlamaModel> load_llama(const std::string& folder, const ModelOptions& options) {
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
