#include "model/linear_layer.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

namespace cadenza {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// oneDNN, behind libtorch, has bf16 products from AVX-512 on (emulated where the processor has the
// width but not the instruction). Below it libtorch falls back on a scalar loop: 0.8 GFLOP/s were
// measured where fp32 products reach 67. The choice is by feature and not by a measurement, so that
// the same run twice gives the same bits.
bool widens(const at::Tensor& tensor) {
  static const bool has_products = at::get_cpu_capability().find("AVX512") != std::string::npos;
  return tensor.scalar_type() == at::kBFloat16 && tensor.is_cpu() && !has_products;
}

at::Tensor widened(const at::Tensor& tensor) { return tensor.to(at::kFloat); }

// Left to autograd, the widened operands would be kept until the backward: twice the memory of the
// bf16 model's activations.
class WideLinear : public torch::autograd::Function<WideLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight) {
    context->save_for_backward({x, weight});
    return at::linear(widened(x), widened(weight)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor d_out = widened(gradients[0]);
    at::Tensor d_x, d_weight;
    if (context->needs_input_grad(0)) {
      d_x = at::mm(d_out, widened(saved[1])).to(saved[0].scalar_type());
    }
    if (context->needs_input_grad(1)) {
      d_weight = at::mm(d_out.t(), widened(saved[0])).to(saved[1].scalar_type());
    }
    return {d_x, d_weight};
  }
};

}  // namespace

at::Tensor linear_layer(const at::Tensor& x, const at::Tensor& weight) {
  return widens(x) ? WideLinear::apply(x, weight) : at::linear(x, weight);
}

at::Tensor product_fp32(const at::Tensor& a, const at::Tensor& b) {
  return widens(a) ? at::mm(widened(a), widened(b)) : at::mm(a, b).to(at::kFloat);
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  return widens(a) ? at::mm(widened(a), widened(b)).to(a.scalar_type()) : at::mm(a, b);
}

}  // namespace cadenza
