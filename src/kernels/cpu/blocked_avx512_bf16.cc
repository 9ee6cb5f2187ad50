#if defined(__x86_64__)
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/block_tables.h"

// bf16 operands by dot-product instructions: 32 registers of 16 pairs or floats: 24 accumulators, 3
// operands, broadcasts.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 16;
constexpr int kVectors = 3;
constexpr int kGroup = 8;
constexpr int64_t kForwardTile = 768;
constexpr int64_t kForwardBlock = 256;
constexpr int64_t kBackwardTile = 384;
constexpr int64_t kBackwardBlock = 128;
constexpr int64_t kBufferKeys = 256;

// Each builds on the ones before.
// clang-format off
#include "kernels/cpu/vector.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/operands_bf16.inc"
#include "kernels/cpu/pack.inc"
#include "kernels/cpu/bf16_dot.inc"
#include "kernels/cpu/products_fma.inc"
#include "kernels/cpu/panel_mask.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
#include "kernels/cpu/block_table.inc"
// clang-format on

}  // namespace

const BlockKernels kAvx512Bf16Kernels = kTable;

}  // namespace cadenza::cpu
#endif
