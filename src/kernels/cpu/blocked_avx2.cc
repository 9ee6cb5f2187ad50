#if defined(__x86_64__)
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/block_kernels.h"

// 16 registers of 8 floats: 12 accumulators, 3 operands, a broadcast.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 8;
constexpr int kVectors = 3;
constexpr int kGroup = 4;

// Each builds on the one before.
// clang-format off
#include "kernels/cpu/blocked_vector.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
// clang-format on

}  // namespace

const BlockKernels kAvx2Kernels = {"avx2", kPanel, 96, forward_span, backward_keys};

}  // namespace cadenza::cpu
#endif
