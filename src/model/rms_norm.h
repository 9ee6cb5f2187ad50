#pragma once

// Inside the model layer only: this header brings in libtorch's tensors.
#include <ATen/core/Tensor.h>

namespace cadenza {

/// x · weight / rms(x), over the last dim, as part of the autograd graph when one is recorded.
/// Statistics and products are fp32 whatever the dtype of x and weight (one for both), and the
/// result is rounded to it once.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace cadenza
