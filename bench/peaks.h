#pragma once

#include <map>
#include <string>
#include <utility>

#include "bench/peak_meter.h"
#include "bench/torch_matmul.h"

namespace cadenza::bench {

/// What measures the machine itself, made when first asked for and then kept.
class Peaks {
 public:
  /// `isa`: that of our kernels. Matrix products of at most `matmul_size` rows on `threads`
  /// threads, register loops of about `sample_seconds`.
  Peaks(std::string isa, int threads, int64_t matmul_size, double sample_seconds);

  const PeakMeter& meter(int threads, Dtype dtype);
  const TorchMatmul& matmul(Dtype dtype);

 private:
  std::string isa_;
  int threads_;
  int64_t matmul_size_;
  double sample_seconds_;
  std::map<std::pair<int, Dtype>, PeakMeter> meters_;
  std::map<Dtype, TorchMatmul> matmuls_;
};

}  // namespace cadenza::bench
