#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/block_tables.h"

// 16 registers of 4 floats: 8 accumulators, 2 operands, a broadcast, and a product where there is
// no fused multiply-add.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 4;
constexpr int kVectors = 2;
constexpr int kGroup = 4;
constexpr int64_t kForwardTile = 96;
constexpr int64_t kForwardBlock = 128;
constexpr int64_t kBackwardTile = 96;
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

const BlockKernels kPortableKernels = kTable;

}  // namespace cadenza::cpu
