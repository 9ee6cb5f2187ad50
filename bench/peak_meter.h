#pragma once

#include <cstdint>
#include <string>

#include "bench/peak_loop.h"

namespace cadenza::bench {

/// The peak of the arithmetic that kernels of one instruction set use on rows of one dtype, on all
/// threads at once. Where there is a choice of loops the constructor tries them and keeps the
/// fastest.
class PeakMeter {
 public:
  PeakMeter(int threads, const std::string& isa, Dtype dtype, double sample_seconds);

  /// Runs the loop for about `sample_seconds`; GFLOP/s over all threads.
  double sample() const;
  const char* loop_name() const { return loop_->name; }

 private:
  int threads_;
  const PeakLoop* loop_ = nullptr;
  int64_t iterations_ = 0;  // of each thread in a sample
};

/// Seconds that `threads` threads take, each for `iterations` of the loop.
double loop_seconds(const PeakLoop& loop, int threads, int64_t iterations);

}  // namespace cadenza::bench
