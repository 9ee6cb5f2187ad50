// The error of the softmax's exponential, as docs/numerics.md states it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace cadenza {
namespace {

constexpr int kWidth = 4;
constexpr int kVectors = 1;
#include "kernels/cpu/vector.inc"

/// The largest relative error over [low, high), each float of a fine grid.
template <int kDegree>
double largest_error(float low, float high) {
  constexpr int kSteps = 400'000;
  double largest = 0;
  for (int i = 0; i < kSteps; i += kWidth) {
    float x[kWidth], y[kWidth];
    for (int lane = 0; lane < kWidth; ++lane) {
      x[lane] = low + (high - low) * static_cast<float>(i + lane) / kSteps;
    }
    store(y, exp2<kDegree>(load(x)));
    for (int lane = 0; lane < kWidth; ++lane) {
      const double exact = std::exp2(static_cast<double>(x[lane]));
      largest = std::max(largest, std::abs(y[lane] - exact) / exact);
    }
  }
  return largest;
}

TEST(Exp2, ErrorIsAsStatedForDegree5) {
  EXPECT_LT(largest_error<5>(-1, 1), 2e-7);
  EXPECT_LT(largest_error<5>(-126, 0), 2e-7);
  EXPECT_LT(largest_error<5>(0, 126), 2e-7);
}

TEST(Exp2, ErrorIsAsStatedForDegree3) {
  EXPECT_LT(largest_error<3>(-1, 1), 1.1e-4);
  EXPECT_LT(largest_error<3>(-126, 126), 1.1e-4);
}

template <int kDegree>
float one(float x) {
  return exp2<kDegree>(broadcast(x))[0];
}

TEST(Exp2, EndsAreExactOrSafe) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(one<5>(0), 1);
  EXPECT_EQ(one<3>(0), 1);
  EXPECT_LE(one<5>(-kInfinity), 0x1p-126f);
  EXPECT_GT(one<5>(kInfinity), 0x1p126f);  // finite or not: far above the limit of a block's sum
  EXPECT_TRUE(std::isnan(one<5>(std::nanf(""))));
}

}  // namespace
}  // namespace cadenza
