#include "testing/expect_close.h"

#include <cmath>

namespace cadenza {
namespace {

// Written so that a NaN or an infinity anywhere fails: every test is "is it good", never "is it
// bad".
template <typename Expected>
testing::AssertionResult compare(std::span<const float> a, std::span<const Expected> b,
                                 double tolerance) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << "sizes differ: " << a.size() << " and " << b.size();
  }
  double scale = 0;
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(difference)) {
      return testing::AssertionFailure()
             << "not finite at " << i << ": " << a[i] << ", expected " << b[i];
    }
    scale = std::max(scale, std::fabs(static_cast<double>(b[i])));
    if (difference > worst) {
      worst = difference;
      at = i;
    }
  }
  if (worst <= tolerance * scale) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "worst at " << at << " of " << a.size() << ": " << a[at] << ", expected " << b[at]
         << "; difference " << worst << " > " << tolerance << " x max|b| = " << tolerance * scale;
}

}  // namespace

testing::AssertionResult close_to(std::span<const float> a, std::span<const float> b,
                                  double tolerance) {
  return compare(a, b, tolerance);
}

testing::AssertionResult close_to(std::span<const float> a, std::span<const double> b,
                                  double tolerance) {
  return compare(a, b, tolerance);
}

}  // namespace cadenza
