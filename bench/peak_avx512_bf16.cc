#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "bench/peak_loop.h"
#include "kernels/cpu/cpu_features.h"

namespace cadenza::bench {
namespace {

// 24 accumulators of 16 floats cover the latency; with 6 operands they fit the 32 registers.
constexpr int kChains = 24, kLeft = 2, kRight = 4;

__m512bh load(const uint16_t* values) {
  __m512bh out;
  __builtin_memcpy(&out, values, sizeof(out));
  return out;
}

/// x[c] += left · right in pairs (vdpbf16ps): sums grow by at most 2 an iteration.
float dot_loop(int64_t iterations, const PeakOperands& operands) {
  __m512bh left[kLeft], right[kRight];
  __m512 x[kChains];
#pragma GCC unroll 32
  for (int l = 0; l < kLeft; ++l) left[l] = load(operands.bf16 + 32 * l);
#pragma GCC unroll 32
  for (int r = 0; r < kRight; ++r) right[r] = load(operands.bf16 + 32 * (kLeft + r));
#pragma GCC unroll 32
  for (int c = 0; c < kChains; ++c) x[c] = _mm512_loadu_ps(operands.f32 + 16 * c);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int c = 0; c < kChains; ++c) {
      x[c] = _mm512_dpbf16_ps(x[c], left[c % kLeft], right[c / kLeft % kRight]);
    }
  }
  __m512 sum = x[0];
#pragma GCC unroll 32
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, x[c]);
  return _mm512_cvtss_f32(sum);
}

// 32 products and sums an instruction.
constexpr double kFlops = 2.0 * 32 * kChains;

}  // namespace

const PeakLoop kPeakAvx512Bf16 = {"avx512_bf16", kFlops,
                                  [] { return cpu::cpu_features().avx512_bf16; }, dot_loop};

}  // namespace cadenza::bench
#endif
