#if defined(__x86_64__)
#include <cstdint>

#include "bench/cpu_features.h"
#include "bench/peak_loop.h"

// 16 registers of 8 floats.
namespace cadenza::bench {
namespace {

constexpr int kWidth = 8;
constexpr int kChains = 12;

#include "bench/peak_fma.inc"

}  // namespace

const PeakLoop kPeakAvx2 = {"avx2", kFlops, has_avx2_fma, fma_loop};

}  // namespace cadenza::bench
#endif
