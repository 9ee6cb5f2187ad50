#pragma once

#include <chrono>

namespace cadenza {

/// A point in time by which a wait must end. Nothing in Cadenza waits without one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after_seconds(double seconds) {
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(seconds)));
  }

  Clock::time_point time() const { return time_; }
  bool passed() const { return Clock::now() >= time_; }
  double remaining_seconds() const {
    return std::chrono::duration<double>(time_ - Clock::now()).count();
  }

 private:
  explicit Deadline(Clock::time_point time) : time_(time) {}
  Clock::time_point time_;
};

}  // namespace cadenza
