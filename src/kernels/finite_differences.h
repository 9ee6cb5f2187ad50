#pragma once

#include <functional>
#include <vector>

#include "kernels/attention_case_test.h"

/// For tests: derivatives of a loss in double by central differences over fp32 inputs.
namespace cadenza {

/// Inputs lie on multiples of the step, so that adding or taking it is exact in fp32. The
/// truncation is about step² = 1e-6 times a third derivative near 1.
constexpr float kDifferenceStep = 0x1p-10f;

inline void round_to_steps(TestRows& x) {
  x.set([&](int64_t row, int64_t head, int64_t d) {
    return std::round(x.view.f32(row, head)[d] / kDifferenceStep) * kDifferenceStep;
  });
}

/// One number an element of x, packed; x is as before afterwards.
inline std::vector<double> central_differences(const TestRows& x,
                                               const std::function<double()>& loss) {
  std::vector<double> out;
  for (int64_t row = 0; row < x.view.rows; ++row) {
    for (int64_t head = 0; head < x.view.heads; ++head) {
      for (int64_t d = 0; d < x.view.dim; ++d) {
        float& element = x.view.f32(row, head)[d];
        const float middle = element;
        element = middle + kDifferenceStep;
        const double above = loss();
        element = middle - kDifferenceStep;
        out.push_back((above - loss()) / (2 * static_cast<double>(kDifferenceStep)));
        element = middle;
      }
    }
  }
  return out;
}

/// sum(a ∘ b), b's elements packed.
inline double inner_product(const std::vector<double>& a, const RowsView& b) {
  const std::vector<double> other = as_doubles(b);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * other[i];
  return sum;
}

}  // namespace cadenza
