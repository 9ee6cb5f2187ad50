#include "model/rms_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace cadenza {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// 1 / rms of each row: [rows, 1] fp32.
at::Tensor inverse_rms(const at::Tensor& x, double eps) {
  return at::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + eps);
}

// For x of fewer bits than fp32. Left to autograd, the widened x and the normed x would both be
// kept until the backward, in fp32: more than the fp32 model keeps. Here x is kept as it is.
class NarrowRmsNorm : public torch::autograd::Function<NarrowRmsNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double eps) {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor scale = inverse_rms(wide, eps);
    context->save_for_backward({x, weight, scale});
    return (wide.mul(scale).mul_(weight)).to(x.scalar_type());
  }

  // With n = x · scale, its rows of mean square 1:  dn = dy · weight,
  // dx = scale · (dn − n · mean(dn · n)),  d weight = sum over rows of dy · n.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const at::Tensor& scale = saved[2];
    const at::Tensor normed = saved[0].to(at::kFloat).mul_(scale);
    const at::Tensor d_out = gradients[0].to(at::kFloat);
    const at::Tensor d_weight = (d_out * normed).sum(0);
    const at::Tensor d_normed = d_out * weight;
    const at::Tensor along = (d_normed * normed).mean(-1, /*keepdim=*/true);
    const at::Tensor d_x = (d_normed - normed * along).mul_(scale);
    return {d_x.to(saved[0].scalar_type()), d_weight.to(weight.scalar_type()), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  if (x.scalar_type() != at::kFloat) return NarrowRmsNorm::apply(x, weight, eps);
  return weight * (x * inverse_rms(x, eps));
}

}  // namespace cadenza
