#if defined(__x86_64__)
#include <cstdint>

#include "bench/cpu_features.h"
#include "bench/peak_loop.h"

// 32 registers of 16 floats.
namespace cadenza::bench {
namespace {

constexpr int kWidth = 16;
constexpr int kChains = 24;

#include "bench/peak_fma.inc"

}  // namespace

const PeakLoop kPeakAvx512 = {"avx512", kFlops, has_avx512, fma_loop};

}  // namespace cadenza::bench
#endif
