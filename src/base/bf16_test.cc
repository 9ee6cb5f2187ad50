#include "base/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cadenza {
namespace {

constexpr uint16_t bits_of(float x) { return to_bf16(x).bits; }

TEST(BFloat16, EveryNumberSurvivesTheWayThroughFp32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 x{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(x))) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(to_float(x))))) << bits;
    } else {
      EXPECT_EQ(to_bf16(to_float(x)), x) << bits;
    }
  }
}

// Between every two finite neighbours: below the middle down, above it up, on it to the even one.
TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const uint32_t low = (bits | sign) << 16;
      const auto expect = [&](uint32_t lower_half, uint32_t expected) {
        ASSERT_EQ(bits_of(std::bit_cast<float>(low | lower_half)), expected | sign) << bits;
      };
      expect(0x7fff, bits);
      expect(0x8000, bits + (bits & 1));
      expect(0x8001, bits + 1);  // beyond the largest number lies infinity, 0x7f80
      expect(0xffff, bits + 1);
    }
  }
}

TEST(BFloat16, NeighboursOfOneAreThoseOfTheFormat) {
  EXPECT_EQ(to_float(to_bf16(0.9994f)), 1.0f);
  EXPECT_EQ(to_float(BFloat16{static_cast<uint16_t>(bits_of(1.0f) - 1)}), 0.99609375f);
  EXPECT_EQ(to_float(BFloat16{static_cast<uint16_t>(bits_of(1.0f) + 1)}), 1.0078125f);
}

TEST(BFloat16, InfinitiesAndNansKeepTheirKind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_float(to_bf16(kInfinity)), kInfinity);
  EXPECT_EQ(to_float(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  // Payloads in either half alone, and all ones, whose carry would end in the sign.
  for (const uint32_t nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const uint16_t bits = bits_of(std::bit_cast<float>(nan));
    EXPECT_TRUE(std::isnan(to_float(BFloat16{bits}))) << nan;
    EXPECT_EQ(bits >> 15, nan >> 31) << nan;
  }
}

}  // namespace
}  // namespace cadenza
