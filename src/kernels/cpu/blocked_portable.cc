#include <cstddef>
#include <cstdint>

#include "kernels/cpu/block_kernels.h"

// 16 registers of 4 floats: 8 accumulators, 2 operands, a broadcast, and a product where there is
// no fused multiply-add.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 4;
constexpr int kVectors = 2;
constexpr int kGroup = 4;

// Each builds on the one before.
// clang-format off
#include "kernels/cpu/blocked_vector.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
// clang-format on

}  // namespace

const BlockKernels kPortableKernels = {"portable", kPanel, 96, forward_span, backward_keys};

}  // namespace cadenza::cpu
