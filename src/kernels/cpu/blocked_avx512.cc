#if defined(__x86_64__)
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/block_kernels.h"

// 32 registers of 16 floats: 24 accumulators, 3 operands, broadcasts.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 16;
constexpr int kVectors = 3;
constexpr int kGroup = 8;

// Each builds on the one before.
// clang-format off
#include "kernels/cpu/blocked_vector.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
// clang-format on

}  // namespace

const BlockKernels kAvx512Kernels = {"avx512", kPanel, 192, forward_span, backward_keys};

}  // namespace cadenza::cpu
#endif
