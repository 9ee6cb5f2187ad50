#pragma once

#include <cstdint>
#include <memory>

#include "base/units.h"

namespace cadenza::bench {

/// libtorch's product of square random matrices: the peak that a library reaches.
class TorchMatmul {
 public:
  /// Of `largest` rows and columns, halved while one product takes longer than about a second.
  TorchMatmul(Dtype dtype, int threads, int64_t largest);
  ~TorchMatmul();

  double sample() const;  // GFLOP/s
  int64_t size() const { return size_; }

 private:
  struct Matrices;
  std::unique_ptr<Matrices> matrices_;
  int64_t size_ = 0;
};

}  // namespace cadenza::bench
