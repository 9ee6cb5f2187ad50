#include "bench/torch_matmul.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "bench/seconds_of.h"

namespace cadenza::bench {
namespace {

constexpr int64_t kProbe = 256;
constexpr double kLongestSeconds = 1;

double flops(int64_t size) {
  return 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
}

}  // namespace

struct TorchMatmul::Matrices {
  at::Tensor a, b;

  Matrices(Dtype dtype, int64_t size) {
    const auto type = dtype == Dtype::kFloat32 ? at::kFloat : at::kBFloat16;
    a = at::rand({size, size}).sub_(0.5).to(type);
    b = at::rand({size, size}).sub_(0.5).to(type);
  }
  double seconds() const {
    const c10::InferenceMode no_autograd;
    return seconds_of([&] { at::mm(a, b); });
  }
};

TorchMatmul::TorchMatmul(Dtype dtype, int threads, int64_t largest) {
  at::set_num_threads(threads);
  const c10::InferenceMode no_autograd;
  const int64_t probe = std::min(kProbe, largest);
  const Matrices small(dtype, probe);
  double seconds = small.seconds();
  for (int i = 0; i < 2; ++i) seconds = std::min(seconds, small.seconds());
  const double rate = flops(probe) / seconds;
  size_ = largest;
  while (size_ > probe && flops(size_) / rate > kLongestSeconds) size_ /= 2;
  matrices_ = std::make_unique<Matrices>(dtype, size_);
}

TorchMatmul::~TorchMatmul() = default;

double TorchMatmul::sample() const { return flops(size_) / matrices_->seconds() * 1e-9; }

}  // namespace cadenza::bench
