#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

namespace cadenza {

/// Success when max|a - b| <= tolerance × max|b|. NaN fails. On failure names the worst position
/// and both values.
testing::AssertionResult close_to(std::span<const float> a, std::span<const float> b,
                                  double tolerance);
testing::AssertionResult close_to(std::span<const float> a, std::span<const double> b,
                                  double tolerance);

}  // namespace cadenza
