#pragma once

#include <concepts>
#include <cstdint>

namespace cadenza {

/// By bisection, a capacity in [1, enough] that `fits` while one token less does not. Requires that
/// `enough` fits. Packing heuristics are not monotone, a smaller capacity may fit again; this one
/// is where the bisection ends, the same for the same documents.
template <std::predicate<int64_t> Fits>
int64_t least_capacity(int64_t enough, const Fits& fits) {
  int64_t too_little = 0;
  while (enough - too_little > 1) {
    const int64_t middle = too_little + (enough - too_little) / 2;
    (fits(middle) ? enough : too_little) = middle;
  }
  return enough;
}

}  // namespace cadenza
