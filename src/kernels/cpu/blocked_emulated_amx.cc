#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/block_tables.h"

// The kernels of blocked_amx.cc with the tile operations in plain C++, for tests.
namespace cadenza::cpu {
namespace {

constexpr int kWidth = 4;
constexpr int kVectors = 8;
constexpr int64_t kForwardTile = 512;
constexpr int64_t kForwardBlock = 256;
constexpr int64_t kBackwardTile = 256;
constexpr int64_t kBackwardBlock = 256;
constexpr int64_t kBufferKeys = 512;

// Each builds on the ones before.
// clang-format off
#include "kernels/cpu/vector.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/operands_bf16.inc"
#include "kernels/cpu/pack.inc"
#include "kernels/cpu/emulated_dot.inc"
#include "kernels/cpu/emulated_tiles.inc"
#include "kernels/cpu/products_amx.inc"
#include "kernels/cpu/panel_mask.inc"
#include "kernels/cpu/blocked_forward.inc"
#include "kernels/cpu/blocked_backward.inc"
#include "kernels/cpu/block_table.inc"
// clang-format on

}  // namespace

const BlockKernels kEmulatedAmxKernels = kTable;

}  // namespace cadenza::cpu
