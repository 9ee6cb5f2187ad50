#pragma once

#include <vector>

#include "kernels/attention_case_test.h"

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

/// What a call on bf16 rows may differ by from the double reference on the same rows, absolute for
/// |V| up to 1.5 (O, LSE) and of the tensor's largest element (gradients).
struct Bf16Tolerance {
  double o, lse, gradient;
};

/// docs/numerics.md. Where the instruction set of that name multiplies bf16 operands, P and dS are
/// rounded to bf16 (2^-9 relative) and 2^x is a polynomial of degree 3 (1.1e-4), and an element is
/// a sum of such terms: `wide`, that of fp32 products, does not hold.
inline Bf16Tolerance bf16_tolerance(const std::string& isa, const Bf16Tolerance& wide) {
  if (cpu::isa_named(isa).bf16->operands != std::string("bf16")) return wide;
  return {1.5 * (0x1p-9 + 2.2e-4), 2e-4, 0x1p-8};
}

/// Those that this processor has, and those that are emulated: what holds for bf16 rows holds for
/// each, whatever machine runs the tests.
inline std::vector<std::string> isas_and_emulated_ones() {
  std::vector<std::string> names = cpu::supported_isas();
  for (const std::string& isa : cpu::emulated_isas()) names.push_back(isa);
  return names;
}

}  // namespace cadenza
