#pragma once

#include <chrono>

namespace cadenza::bench {

/// Seconds that the call takes, by a clock that never jumps.
template <typename Call>
double seconds_of(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace cadenza::bench
