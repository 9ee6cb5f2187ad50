#pragma once

// Inside the model layer only: this header brings in libtorch's tensors.
#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "model/llama.h"
#include "model/parameters.h"

namespace cadenza {

/// What the passes of one model share. In fp32 a weight is a leaf over its part of the flat
/// parameters, and its .grad that part of the flat gradients, into which autograd accumulates in
/// place. In bf16 it is a leaf over a rounded copy, whose .grad is there only until it is gathered.
struct LlamaContext {
  ModelConfig config;
  ModelOptions options;
  std::vector<float> inverse_frequencies;
  std::vector<at::Tensor> weights;    // in the order of parameter_layout
  std::vector<at::Tensor> gradients;  // their parts of the flat gradients, fp32

  at::ScalarType type() const {
    return options.dtype == Dtype::kFloat32 ? at::kFloat : at::kBFloat16;
  }
  int layers() const { return static_cast<int>(config.num_hidden_layers); }
  const at::Tensor& layer(int which_layer, LayerParameter which) const {
    return weights[layer_index(which_layer, which)];
  }
  const at::Tensor& embedding() const { return weights[embedding_index()]; }
  const at::Tensor& final_norm() const { return weights[final_norm_index(layers())]; }
  const at::Tensor& head() const {
    return weights[head_index(layers(), config.tie_word_embeddings)];
  }
  const at::Tensor& embedding_gradient() const { return gradients[embedding_index()]; }
  const at::Tensor& head_gradient() const {
    return gradients[head_index(layers(), config.tie_word_embeddings)];
  }
};

/// After a backward through parts of the model: adds bf16 gradients that autograd left at the
/// weights to the flat gradients, and frees them. Nothing to do in fp32.
void gather_gradients(const LlamaContext& context);

/// Final norm, head and loss of all rows that have a target, `head_chunk_rows` at a time.
struct HeadInput {
  const LlamaContext& context;
  const at::Tensor& x;  // [rows, hidden], no graph
  const std::vector<int64_t>& targets;
  double loss_scale;
};

/// Fills row_losses (0 where there is no target). Logits are fp32 from the matrix product on.
void head_loss(const HeadInput& input, std::vector<float>& row_losses);

/// The same, and accumulates the gradients of head and final norm. Returns the gradient to x.
at::Tensor head_loss_and_gradient(const HeadInput& input, std::vector<float>& row_losses);

/// One pass; `context` must outlive it.
std::unique_ptr<SegmentRun> start_llama_run(const LlamaContext& context, const RankTokens& tokens,
                                            double loss_scale, bool training);

}  // namespace cadenza
