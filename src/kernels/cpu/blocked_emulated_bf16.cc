#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/block_tables.h"

// The kernels of blocked_avx512_bf16.cc with the dot product in plain C++, for tests.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 4;
constexpr int kVectors = 3;
constexpr int kGroup = 4;
constexpr int64_t kForwardTile = 96;
constexpr int64_t kForwardBlock = 64;
constexpr int64_t kBackwardTile = 96;
constexpr int64_t kBackwardBlock = 64;
constexpr int64_t kBufferKeys = 128;

// Each builds on the ones before.
// clang-format off
#include "kernels/cpu/vector.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/operands_bf16.inc"
#include "kernels/cpu/pack.inc"
#include "kernels/cpu/emulated_dot.inc"
#include "kernels/cpu/products_fma.inc"
#include "kernels/cpu/panel_mask.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
#include "kernels/cpu/block_table.inc"
// clang-format on

}  // namespace

const BlockKernels kEmulatedBf16Kernels = kTable;

}  // namespace cadenza::cpu
