// Final norm, head and loss. Logits would be rows × vocabulary, the largest tensor of a training
// step by far; so rows go through in chunks, and each chunk's gradient is taken while its logits
// are still there. They are turned in place:
//   logits -> exp(logits - max) -> (softmax - onehot(target)) * loss_scale = d loss / d logits
// The gradient to the head is one matrix product into its .grad; only the small graph of the norm
// is left to autograd.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "model/linear_layer.h"
#include "model/llama_context.h"
#include "model/rms_norm.h"

namespace cadenza {
namespace {

// Rows of one chunk and their targets: index tensors [n].
struct ChunkRows {
  at::Tensor rows;
  at::Tensor targets;
};

std::vector<int64_t> rows_with_target(const std::vector<int64_t>& targets) {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] != RankTokens::kNoTarget) rows.push_back(static_cast<int64_t>(row));
  }
  return rows;
}

// [n, vocab] logits become exp(logits - max); fills the chunk's losses. Returns the sums of the
// exponentials, [n, 1].
at::Tensor losses_from_logits(at::Tensor& logits, const ChunkRows& chunk,
                              std::vector<float>& row_losses) {
  logits.sub_(logits.amax({1}, /*keepdim=*/true));
  const at::Tensor of_target = logits.gather(1, chunk.targets.unsqueeze(1));
  const at::Tensor sums = logits.exp_().sum({1}, /*keepdim=*/true);
  const at::Tensor losses = (sums.log() - of_target).contiguous();
  for (int64_t i = 0; i < losses.size(0); ++i) {
    row_losses[static_cast<size_t>(chunk.rows.const_data_ptr<int64_t>()[i])] =
        losses.const_data_ptr<float>()[i];
  }
  return sums;
}

// From the exponentials and their sums, in place.
void to_logit_gradient(at::Tensor& logits, const at::Tensor& sums, const ChunkRows& chunk,
                       double loss_scale) {
  logits.div_(sums);
  logits.scatter_add_(1, chunk.targets.unsqueeze(1), at::full_like(sums, -1.0));
  logits.mul_(loss_scale);
}

void chunk_loss(const HeadInput& input, const ChunkRows& chunk, std::vector<float>& row_losses) {
  const LlamaContext& context = input.context;
  const at::Tensor normed = rms_norm(input.x.index_select(0, chunk.rows), context.final_norm(),
                                     context.config.rms_norm_eps);
  at::Tensor logits = product_fp32(normed, context.head().t());
  losses_from_logits(logits, chunk, row_losses);
}

// Adds the gradient of one chunk to the head's. In bf16 the product of a chunk is rounded, their
// sum is not.
void add_head_gradient(const LlamaContext& context, const at::Tensor& d_logits,
                       const at::Tensor& values) {
  if (context.type() == at::kFloat) {
    context.head_gradient().addmm_(d_logits.t(), values);
  } else {
    context.head_gradient().add_(product_fp32(d_logits.t(), values));
  }
}

// Returns the gradient to the chunk's rows of x, [n, hidden].
at::Tensor chunk_gradient(const HeadInput& input, const ChunkRows& chunk,
                          std::vector<float>& row_losses) {
  const LlamaContext& context = input.context;
  at::Tensor x = input.x.index_select(0, chunk.rows).requires_grad_(true);
  at::Tensor normed;
  {
    const at::AutoGradMode record(true);
    normed = rms_norm(x, context.final_norm(), context.config.rms_norm_eps);
  }
  const at::Tensor values = normed.detach();
  at::Tensor logits = product_fp32(values, context.head().t());
  const at::Tensor sums = losses_from_logits(logits, chunk, row_losses);
  to_logit_gradient(logits, sums, chunk, input.loss_scale);
  const at::Tensor d_logits = logits.to(context.type());
  add_head_gradient(context, d_logits, values);
  torch::autograd::backward({normed}, {product(d_logits, context.head())});
  gather_gradients(context);
  return x.grad();
}

// Calls handle(chunk) for every head_chunk_rows rows that have a target.
template <typename Handle>
void for_each_chunk(const HeadInput& input, const Handle& handle) {
  std::vector<int64_t> rows = rows_with_target(input.targets);
  std::vector<int64_t> targets;
  for (const int64_t row : rows) targets.push_back(input.targets[static_cast<size_t>(row)]);
  const auto all = static_cast<int64_t>(rows.size());
  const int64_t step = input.context.options.head_chunk_rows;
  for (int64_t begin = 0; begin < all; begin += step) {
    const int64_t size = std::min(step, all - begin);
    handle({at::from_blob(rows.data() + begin, {size}, at::kLong),
            at::from_blob(targets.data() + begin, {size}, at::kLong)});
  }
}

}  // namespace

void head_loss(const HeadInput& input, std::vector<float>& row_losses) {
  for_each_chunk(input, [&](const ChunkRows& chunk) { chunk_loss(input, chunk, row_losses); });
}

at::Tensor head_loss_and_gradient(const HeadInput& input, std::vector<float>& row_losses) {
  const at::NoGradGuard no_grad;
  at::Tensor d_x = at::zeros_like(input.x);
  for_each_chunk(input, [&](const ChunkRows& chunk) {
    d_x.index_copy_(0, chunk.rows, chunk_gradient(input, chunk, row_losses));
  });
  return d_x;
}

}  // namespace cadenza
