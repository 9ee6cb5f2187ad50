#pragma once

#include <bit>
#include <cstdint>

namespace cadenza {

/// A bfloat16 number: the upper half of an fp32 number's bits, so the same range and 8 bits of
/// precision. Only stored and converted; arithmetic is in fp32.
struct BFloat16 {
  uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// Exact.
constexpr float to_float(BFloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}
constexpr float to_float(float x) { return x; }

/// Rounds to the nearest, ties to even; what is too large becomes an infinity, a NaN stays a NaN.
/// Without branches, so that loops over it become vector code.
constexpr BFloat16 to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  // The carry out of the lower half is the rounding; a NaN whose payload lies there could carry
  // into the sign, so it is made quiet instead.
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return {static_cast<uint16_t>(is_nan ? quiet_nan : rounded)};
}

}  // namespace cadenza
