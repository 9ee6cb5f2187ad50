#pragma once

#include <chrono>

namespace cadenza {

/// Adds the seconds of its scope to a total.
class Stopwatch {
 public:
  explicit Stopwatch(double& total_seconds) : total_(total_seconds) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& total_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace cadenza
