#if defined(__x86_64__)
#include <cstdint>

#include "bench/peak_loop.h"
#include "kernels/cpu/cpu_features.h"

// 32 registers of 16 floats.
namespace cadenza::bench {
namespace {

constexpr int kWidth = 16;
constexpr int kChains = 24;

#include "bench/peak_fma.inc"

}  // namespace

const PeakLoop kPeakAvx512 = {"avx512", kFlops, [] { return cpu::cpu_features().avx512; },
                              fma_loop};

}  // namespace cadenza::bench
#endif
