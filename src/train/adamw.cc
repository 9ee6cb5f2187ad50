#include "train/adamw.h"

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <memory>
#include <utility>
#include <vector>

namespace cadenza {
namespace {

// Neighbouring parameters with the same decay form one tensor: Adam is elementwise, and a few long
// tensors step faster than hundreds of short ones.
struct Run {
  int64_t begin = 0;
  int64_t end = 0;
  bool decay = false;
};

std::vector<Run> runs_of_equal_decay(const std::vector<ParameterInfo>& parameters) {
  std::vector<Run> runs;
  for (const ParameterInfo& info : parameters) {
    const bool joins =
        !runs.empty() && runs.back().decay == info.weight_decay && runs.back().end == info.offset;
    if (!joins) runs.push_back({info.offset, info.offset, info.weight_decay});
    runs.back().end += info.elements;
  }
  return runs;
}

at::Tensor tensor_over(TrainableModel& model, const Run& run) {
  const int64_t elements = run.end - run.begin;
  at::Tensor value =
      at::from_blob(model.flat_parameters().data() + run.begin, {elements}, at::kFloat);
  value.requires_grad_(true);
  value.mutable_grad() =
      at::from_blob(model.flat_gradients().data() + run.begin, {elements}, at::kFloat);
  return value;
}

std::vector<at::Tensor> tensors_with_decay(TrainableModel& model, bool decay) {
  std::vector<at::Tensor> tensors;
  for (const Run& run : runs_of_equal_decay(model.parameters())) {
    if (run.decay == decay) tensors.push_back(tensor_over(model, run));
  }
  return tensors;
}

torch::optim::OptimizerParamGroup group(TrainableModel& model, const AdamWOptions& options,
                                        bool decay) {
  auto settings = std::make_unique<torch::optim::AdamWOptions>();
  settings->betas({options.beta1, options.beta2})
      .eps(options.epsilon)
      .weight_decay(decay ? options.weight_decay : 0.0);
  return {tensors_with_decay(model, decay), std::move(settings)};
}

class LibtorchAdamW final : public AdamW {
 public:
  LibtorchAdamW(TrainableModel& model, const AdamWOptions& options)
      : optimizer_({group(model, options, true), group(model, options, false)}) {}

  void step(double learning_rate) override {
    for (auto& each : optimizer_.param_groups()) each.options().set_lr(learning_rate);
    optimizer_.step();
  }

 private:
  torch::optim::AdamW optimizer_;
};

}  // namespace

std::unique_ptr<AdamW> make_adamw(TrainableModel& model, const AdamWOptions& options) {
  return std::make_unique<LibtorchAdamW>(model, options);
}

}  // namespace cadenza
