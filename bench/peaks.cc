#include "bench/peaks.h"

namespace cadenza::bench {

Peaks::Peaks(std::string isa, int threads, int64_t matmul_size, double sample_seconds)
    : isa_(std::move(isa)),
      threads_(threads),
      matmul_size_(matmul_size),
      sample_seconds_(sample_seconds) {}

const PeakMeter& Peaks::meter(int threads, Dtype dtype) {
  const std::pair key(threads, dtype);
  const auto found = meters_.find(key);
  if (found != meters_.end()) return found->second;
  return meters_.emplace(key, PeakMeter(threads, isa_, dtype, sample_seconds_)).first->second;
}

const TorchMatmul& Peaks::matmul(Dtype dtype) {
  return matmuls_.try_emplace(dtype, dtype, threads_, matmul_size_).first->second;
}

}  // namespace cadenza::bench
