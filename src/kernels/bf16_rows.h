#pragma once

#include <vector>

#include "kernels/attention_case.h"

/// For tests: rows in bf16.
namespace cadenza {

/// The rows of a TestRows rounded to bf16, with the same strides; gaps hold NaN too.
struct Bf16Rows {
  std::vector<BFloat16> memory;
  RowsView view;

  explicit Bf16Rows(const TestRows& rows) : view(rows.view) {
    for (const float x : rows.memory) memory.push_back(to_bf16(x));
    view.data = memory.data();
    view.dtype = Dtype::kBFloat16;
  }
  Bf16Rows(Bf16Rows&&) = default;  // a vector keeps its memory when it is moved
};

/// Every element becomes its nearest bf16 number.
inline void round_to_bf16(TestRows& rows) {
  for (float& x : rows.memory) x = to_float(to_bf16(x));
}

/// The contents of a host view of any dtype, packed.
inline std::vector<float> as_floats(const RowsView& view) {
  const std::vector<double> values = as_doubles(view);
  return {values.begin(), values.end()};
}

}  // namespace cadenza
