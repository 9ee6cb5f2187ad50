#if defined(__x86_64__)
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/block_tables.h"

// 16 registers of 8 floats: 12 accumulators, 2 operands, a broadcast.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 8;
constexpr int kVectors = 2;
constexpr int kGroup = 6;
constexpr int64_t kForwardTile = 768;
constexpr int64_t kForwardBlock = 128;
constexpr int64_t kBackwardTile = 256;
constexpr int64_t kBackwardBlock = 64;
constexpr int64_t kBufferKeys = 256;

// Each builds on the ones before.
// clang-format off
#include "kernels/cpu/vector.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/operands_fp32.inc"
#include "kernels/cpu/pack.inc"
#include "kernels/cpu/fp32_fma.inc"
#include "kernels/cpu/products_fma.inc"
#include "kernels/cpu/panel_mask.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
#include "kernels/cpu/block_table.inc"
// clang-format on

}  // namespace

const BlockKernels kAvx2Kernels = kTable;

}  // namespace cadenza::cpu
#endif
