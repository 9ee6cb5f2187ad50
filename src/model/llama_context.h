#pragma once

// Inside the model layer only: this header brings in libtorch's tensors.
#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "model/llama.h"
#include "model/parameters.h"

namespace cadenza {

/// What the passes of one model share. A weight is a leaf over its part of the flat parameters, and
/// its .grad a view of the flat gradients, into which autograd accumulates in place.
struct LlamaContext {
  ModelConfig config;
  LlamaOptions options;
  std::vector<float> inverse_frequencies;
  std::vector<at::Tensor> weights;  // in the order of parameter_layout

  int layers() const { return static_cast<int>(config.num_hidden_layers); }
  const at::Tensor& layer(int which_layer, LayerParameter which) const {
    return weights[layer_index(which_layer, which)];
  }
  const at::Tensor& embedding() const { return weights[embedding_index()]; }
  const at::Tensor& final_norm() const { return weights[final_norm_index(layers())]; }
  const at::Tensor& head() const {
    return weights[head_index(layers(), config.tie_word_embeddings)];
  }
};

/// x · weight / rms(x), over the last dim, as part of the autograd graph when one is recorded.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// Final norm, head and loss of all rows that have a target, `head_chunk_rows` at a time.
struct HeadInput {
  const LlamaContext& context;
  const at::Tensor& x;  // [rows, hidden], no graph
  const std::vector<int64_t>& targets;
  double loss_scale;
};

/// Fills row_losses (0 where there is no target).
void head_loss(const HeadInput& input, std::vector<float>& row_losses);

/// The same, and accumulates the gradients of head and final norm. Returns the gradient to x.
at::Tensor head_loss_and_gradient(const HeadInput& input, std::vector<float>& row_losses);

/// One pass; `context` must outlive it.
std::unique_ptr<SegmentRun> start_llama_run(const LlamaContext& context, const RankTokens& tokens,
                                            double loss_scale, bool training);

}  // namespace cadenza
