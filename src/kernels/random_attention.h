#pragma once

#include <algorithm>

#include "kernels/attention_case_test.h"

/// For tests: random calls of attention, with tasks that overlap, see nothing, or have no rows.
namespace cadenza {

inline Band random_band(Rng& rng, int64_t q_rows, int64_t kv_rows) {
  const int64_t low = uniform_between(rng, -q_rows - 3, kv_rows + 3);
  const int64_t high = uniform_between(rng, -q_rows - 3, kv_rows + 3);
  switch (uniform_below(rng, 6)) {
    case 0:
      return Band::full();
    case 1:
      return {Band::kUnboundedBelow, kv_rows - q_rows};
    case 2:
      return {Band::kUnboundedBelow, high};
    case 3:
      return {low, Band::kUnboundedAbove};
    case 4:
      return {low, high};  // often without any pair
    default:
      return {std::min(low, high), std::max(low, high)};
  }
}

inline Range random_range(Rng& rng, int64_t rows) {
  const int64_t a = uniform_between(rng, 0, rows), b = uniform_between(rng, 0, rows);
  return uniform_below(rng, 3) == 0 ? Range{0, rows} : Range{std::min(a, b), std::max(a, b)};
}

inline AttentionTask random_task(Rng& rng, const AttentionCase& c) {
  const Range q = random_range(rng, c.q.view.rows), kv = random_range(rng, c.k.view.rows);
  const Range heads = random_range(rng, c.shape.heads);
  const Band band = random_band(rng, q.size(), kv.size());
  return {.q_begin = q.begin,
          .q_rows = q.size(),
          .kv_begin = kv.begin,
          .kv_rows = kv.size(),
          .lowest = band.lowest,
          .highest = band.highest,
          .head_begin = heads.begin,
          .head_end = heads.end,
          .merge = uniform_below(rng, 2) == 0};
}

/// Mostly what models have, multiples of 8 up to 256; now and then what a vector does not fit.
inline int64_t random_dim(Rng& rng) {
  constexpr int64_t kOdd[] = {1, 3, 8, 17, 31, 65};
  if (uniform_below(rng, 4) == 0) return kOdd[uniform_below(rng, std::size(kOdd))];
  return 8 * uniform_between(rng, 2, 32);
}

inline AttentionShape random_shape(Rng& rng) {
  constexpr int64_t kRatios[] = {1, 2, 3, 4, 5, 7, 8, 16};
  const int64_t kv_heads = uniform_between(rng, 1, 3);
  const int64_t dim = random_dim(rng);
  const int64_t v_dim = uniform_below(rng, 2) == 0 ? dim : random_dim(rng);
  return {.heads = kv_heads * kRatios[uniform_below(rng, std::size(kRatios))],
          .kv_heads = kv_heads,
          .head_dim = dim,
          .v_head_dim = v_dim,
          .scale = 1 / std::sqrt(static_cast<float>(dim))};
}

/// Most cases are small; rows beyond several blocks, tiles and chunks come with small shapes.
inline AttentionCase random_case(Rng& rng) {
  const bool is_long = uniform_below(rng, 6) == 0;
  AttentionShape shape = random_shape(rng);
  if (is_long) shape = {.heads = 3, .kv_heads = 1, .head_dim = 8, .v_head_dim = 5, .scale = 0.4f};
  const int64_t most = is_long ? 700 : 70;
  AttentionCase c = make_case(rng, shape, uniform_between(rng, 0, most),
                              uniform_between(rng, 0, most), uniform_below(rng, 2) == 0);
  for (int64_t i = uniform_between(rng, 0, 5); i > 0; --i) c.tasks.push_back(random_task(rng, c));
  return c;
}

}  // namespace cadenza
