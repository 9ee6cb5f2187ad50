#include "growth.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace cadenza {
namespace {

constexpr int64_t kTokens = 131072;
const PairsCostModel kPairs;

double uniform(Rng& rng) { return (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53; }

int64_t draw_length(Rng& rng) {
  const double normal = std::sqrt(-2 * std::log(uniform(rng))) *
                        std::cos(2 * std::numbers::pi * uniform(rng));  // Box and Muller
  return std::clamp<int64_t>(std::llround(3000 * std::exp(1.6 * normal)), 16, kTokens);
}

}  // namespace

PlanRequest growth_request(int servers, uint64_t seed) {
  Rng rng(seed);
  std::vector<int64_t> lengths;
  for (int64_t left = servers * kTokens; left > 0; left -= lengths.back())
    lengths.push_back(std::min(left, draw_length(rng)));
  return {.documents = documents_of_lengths(lengths),
          .homes = servers,
          .tokens_per_rank = kTokens,
          .cluster = {.servers = servers},
          .cost = &kPairs,
          .tolerance = 0.02};
}

}  // namespace cadenza
