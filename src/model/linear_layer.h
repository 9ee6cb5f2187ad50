#pragma once

// Inside the model layer only: this header brings in libtorch's tensors.
#include <ATen/core/Tensor.h>

namespace cadenza {

/// x [rows, in] times weight [out, in] transposed, with autograd: at::linear, and where the
/// processor has no bf16 products, the same in bf16 by way of fp32. Either way sums are fp32 and
/// the result is rounded once, to x's type; x and weight are kept for the backward as they are.
at::Tensor linear_layer(const at::Tensor& x, const at::Tensor& weight);

/// The matrix product a · b without autograd, in fp32 whatever the type of a and b. In bf16 by
/// the processor's own products the result has been rounded to bf16.
at::Tensor product_fp32(const at::Tensor& a, const at::Tensor& b);

/// The same in the type of a.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

}  // namespace cadenza
