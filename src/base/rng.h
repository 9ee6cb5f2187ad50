#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace cadenza {

/// The engine is specified to the bit by the standard; its distributions are not, so the ones used
/// where ranks or machines must agree are below.
using Rng = std::mt19937_64;

/// Uniform in [0, n), n >= 1. Rejection keeps it unbiased.
inline uint64_t uniform_below(Rng& rng, uint64_t n) {
  const uint64_t limit = Rng::max() - Rng::max() % n;
  uint64_t draw;
  do draw = rng();
  while (draw >= limit);
  return draw % n;
}

/// Uniform in [low, high], both ends included.
inline int64_t uniform_between(Rng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(uniform_below(rng, static_cast<uint64_t>(high - low) + 1));
}

/// Fisher-Yates; the same order on every machine for the same engine state.
template <typename T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[uniform_below(rng, i)]);
}

}  // namespace cadenza
