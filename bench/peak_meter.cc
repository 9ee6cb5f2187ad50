#include "bench/peak_meter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/seconds_of.h"

namespace cadenza::bench {
namespace {

double gflops(const PeakLoop& loop, int threads, int64_t iterations) {
  return loop.flops * static_cast<double>(threads) * static_cast<double>(iterations) /
         loop_seconds(loop, threads, iterations) * 1e-9;
}

/// Iterations that last about as long as a sample. Of one thread and the least of three times: on a
/// busy machine a thread that has to wait must not pass for a slow loop.
int64_t sample_iterations(const PeakLoop& loop, double sample_seconds) {
  const auto least = [&](int64_t iterations) {
    double seconds = loop_seconds(loop, 1, iterations);
    for (int i = 0; i < 2; ++i) seconds = std::min(seconds, loop_seconds(loop, 1, iterations));
    return seconds;
  };
  int64_t iterations = 1024;
  double seconds = least(iterations);
  while (seconds < sample_seconds / 8) seconds = least(iterations *= 2);
  return static_cast<int64_t>(static_cast<double>(iterations) * sample_seconds / seconds);
}

}  // namespace

double loop_seconds(const PeakLoop& loop, int threads, int64_t iterations) {
  const PeakOperands& operands = peak_operands();
  float sum = 0;
  const double seconds = seconds_of([&] {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += loop.run(iterations, operands);
  });
  // Never true, which the compiler cannot know: it must keep the loops.
  return std::isnan(sum) ? 0 : seconds;
}

PeakMeter::PeakMeter(int threads, const std::string& isa, Dtype dtype, double sample_seconds)
    : threads_(threads) {
  double best = 0;
  for (const PeakLoop* loop : peak_loops_of(isa, dtype)) {
    const int64_t iterations = sample_iterations(*loop, sample_seconds);
    std::vector<double> tries;
    for (int i = 0; i < 3; ++i) tries.push_back(gflops(*loop, threads, iterations));
    std::sort(tries.begin(), tries.end());
    if (tries[1] <= best) continue;
    best = tries[1];
    loop_ = loop;
    iterations_ = iterations;
  }
}

double PeakMeter::sample() const { return gflops(*loop_, threads_, iterations_); }

}  // namespace cadenza::bench
