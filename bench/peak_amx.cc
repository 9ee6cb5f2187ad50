#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "bench/peak_loop.h"
#include "kernels/cpu/cpu_features.h"

namespace cadenza::bench {
namespace {

/// Intel SDM volume 1, section 18.3: palette 1 has eight tiles of up to 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

constexpr int kTileElements = 16 * 32;  // of bf16
static_assert(4 * kTileElements <= PeakOperands::kBFloats);

/// Four accumulators, tiles 0 to 3, from two left and two right ones, as a 32 × 32 block is
/// computed. Tiles belong to the thread, so each configures its own and releases it.
float tile_loop(int64_t iterations, const PeakOperands& operands) {
  const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, operands.bf16, 64);
  _tile_loadd(5, operands.bf16 + kTileElements, 64);
  _tile_loadd(6, operands.bf16 + 2 * kTileElements, 64);
  _tile_loadd(7, operands.bf16 + 3 * kTileElements, 64);
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) float out[16 * 16];
  float sum = 0;
  _tile_stored(0, out, 64);
  sum += out[0];
  _tile_stored(1, out, 64);
  sum += out[0];
  _tile_stored(2, out, 64);
  sum += out[0];
  _tile_stored(3, out, 64);
  sum += out[0];
  _tile_release();
  return sum;
}

// Four products of 16 × 32 by 32 × 16.
constexpr double kFlops = 4 * 2.0 * 16 * 16 * 32;

}  // namespace

const PeakLoop kPeakAmx = {"amx", kFlops, [] { return cpu::cpu_features().amx_bf16; }, tile_loop};

}  // namespace cadenza::bench
#endif
