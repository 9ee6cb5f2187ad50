#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "model/model_options.h"
#include "step/trainable_model.h"

namespace cadenza {

/// A Llama-type decoder. A tied head has no parameter of its own.
///
/// A model in bf16 computes with rounded copies of the parameters, made anew when a pass starts: an
/// update that is smaller than a step of bf16 is not lost, it stays in the fp32 parameters. Sums
/// that would suffer are fp32: products inside a norm, RoPE, softmax and loss, and gradients over
/// passes and ranks.
class LlamaModel : public TrainableModel {
 public:
  virtual const ModelConfig& config() const = 0;
  int64_t vocab_size() const override { return config().vocab_size; }
};

/// Fresh weights: normal(0, initializer_range), the projections that write to the residual stream
/// (o_proj, down_proj) scaled by 1/sqrt(2 · layers) (GPT-2, section 2.3), norms 1. Equal seeds give
/// equal weights.
std::unique_ptr<LlamaModel> make_llama(const ModelConfig& config, const ModelOptions& options,
                                       uint64_t seed);

/// Loads `folder`/config.json and `folder`/model.safetensors (fp32 or bf16). DataError naming file
/// and tensor when one is missing, left over, of another shape or dtype.
std::unique_ptr<LlamaModel> load_llama(const std::string& folder, const ModelOptions& options);

/// Threads of libtorch's own kernels in the calling thread.
void set_model_threads(int threads);

/// Routes libtorch's CPU allocations through MemoryCounter. Call once, before the first tensor.
void count_model_memory();

}  // namespace cadenza
