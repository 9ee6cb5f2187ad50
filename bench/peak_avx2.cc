#if defined(__x86_64__)
#include <cstdint>

#include "bench/peak_loop.h"
#include "kernels/cpu/cpu_features.h"

// 16 registers of 8 floats.
namespace cadenza::bench {
namespace {

constexpr int kWidth = 8;
constexpr int kChains = 12;

#include "bench/peak_fma.inc"

}  // namespace

const PeakLoop kPeakAvx2 = {"avx2", kFlops, [] { return cpu::cpu_features().avx2; }, fma_loop};

}  // namespace cadenza::bench
#endif
