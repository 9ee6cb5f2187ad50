#include <cstdint>

#include "bench/peak_loop.h"

// 16 registers of 4 floats, a multiplication and an addition where there is no fused one.
namespace cadenza::bench {
namespace {

constexpr int kWidth = 4;
constexpr int kChains = 12;

#include "bench/peak_fma.inc"

}  // namespace

const PeakLoop kPeakPortable = {"portable", kFlops, [] { return true; }, fma_loop};

}  // namespace cadenza::bench
