#include "model/linear_layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace cadenza {
namespace {

// Half a step of bf16, relative to the number.
constexpr double kRounding = 0x1p-8;

/// Largest difference relative to the largest element of `exact`.
double distance(const at::Tensor& got, const at::Tensor& exact) {
  const at::Tensor wide = exact.to(at::kDouble);
  return ((got.to(at::kDouble) - wide).abs().max() / wide.abs().max()).item<double>();
}

/// Values that bf16 holds.
at::Tensor random_bf16(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kFloat).to(at::kBFloat16);
}

TEST(Linear, RoundsABf16ProductOnce) {
  at::manual_seed(1);
  const at::Tensor x = random_bf16({37, 300}), weight = random_bf16({53, 300});
  const at::Tensor exact = at::mm(x.to(at::kDouble), weight.to(at::kDouble).t());
  EXPECT_EQ(linear_layer(x, weight).scalar_type(), at::kBFloat16);
  EXPECT_LE(distance(linear_layer(x, weight), exact), kRounding);
  EXPECT_LE(distance(product(x, weight.t()), exact), kRounding);
  EXPECT_EQ(product_fp32(x, weight.t()).scalar_type(), at::kFloat);
  EXPECT_LE(distance(product_fp32(x, weight.t()), exact), kRounding);
}

TEST(Linear, GivesTheGradientsOfTheProduct) {
  at::manual_seed(2);
  const at::Tensor x = random_bf16({37, 30}).requires_grad_(true);
  const at::Tensor weight = random_bf16({53, 30}).requires_grad_(true);
  const at::Tensor d_out = random_bf16({37, 53});
  torch::autograd::backward({linear_layer(x, weight)}, {d_out});
  const at::Tensor wide = d_out.to(at::kDouble);
  EXPECT_LE(distance(x.grad(), at::mm(wide, weight.detach().to(at::kDouble))), kRounding);
  EXPECT_LE(distance(weight.grad(), at::mm(wide.t(), x.detach().to(at::kDouble))), kRounding);
  EXPECT_EQ(x.grad().scalar_type(), at::kBFloat16);
}

TEST(Linear, LeavesFp32ToLibtorch) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({9, 17}), weight = at::randn({5, 17});
  EXPECT_TRUE(at::equal(linear_layer(x, weight), at::linear(x, weight)));
  EXPECT_TRUE(at::equal(product(x, weight.t()), at::mm(x, weight.t())));
}

}  // namespace
}  // namespace cadenza
