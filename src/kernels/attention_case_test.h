#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/rng.h"
#include "core/piece.h"
#include "kernels/attention.h"
#include "kernels/backend.h"
#include "kernels/cpu/isa.h"
#include "kernels/reference/reference_attention.h"

/// For tests: buffers and calls of attention, random or spelt out.
namespace cadenza {

/// Rows with their memory. Gaps between rows and heads hold NaN, so that reading them shows in
/// results.
struct TestRows {
  std::vector<float> memory;
  RowsView view;

  TestRows() = default;
  TestRows(int64_t rows, int64_t heads, int64_t dim, int64_t head_gap = 0, int64_t row_gap = 0) {
    const int64_t head_stride = dim + head_gap, row_stride = heads * head_stride + row_gap;
    memory.assign(static_cast<size_t>(rows * row_stride), std::nanf(""));
    view = {.data = memory.data(),
            .rows = rows,
            .heads = heads,
            .dim = dim,
            .row_stride = row_stride,
            .head_stride = head_stride};
    set([](int64_t, int64_t, int64_t) { return 0.0f; });
  }
  TestRows(TestRows&&) = default;  // a vector keeps its memory when it is moved
  TestRows& operator=(TestRows&&) = default;

  /// Element (row, head, d) becomes value(row, head, d).
  template <typename Value>
  void set(const Value& value) {
    for (int64_t row = 0; row < view.rows; ++row) {
      for (int64_t head = 0; head < view.heads; ++head) {
        for (int64_t d = 0; d < view.dim; ++d) view.f32(row, head)[d] = value(row, head, d);
      }
    }
  }
};

/// Uniform in [low, high).
inline float uniform(Rng& rng, float low, float high) {
  return low + (high - low) * static_cast<float>(rng() >> 40) * 0x1p-24f;
}

inline TestRows random_rows(Rng& rng, int64_t rows, int64_t heads, int64_t dim, bool gaps,
                            float low = -1.5f, float high = 1.5f) {
  TestRows out(rows, heads, dim, gaps ? uniform_between(rng, 0, 3) : 0,
               gaps ? uniform_between(rng, 0, 5) : 0);
  out.set([&](int64_t, int64_t, int64_t) { return uniform(rng, low, high); });
  return out;
}

/// All tensors of a forward and a backward call on the same tasks.
struct AttentionCase {
  AttentionShape shape;
  std::vector<AttentionTask> tasks;
  TestRows q, k, v, o, lse;
  TestRows d_o, row_lse, delta, dq, dk, dv;

  ForwardArgs forward() const { return {shape, tasks, q.view, k.view, v.view, o.view, lse.view}; }
  BackwardArgs backward() const {
    return {shape,        tasks,      q.view,  k.view,  v.view, d_o.view,
            row_lse.view, delta.view, dq.view, dk.view, dv.view};
  }
};

/// Random contents. `row_lse` lies above every score, as an LSE does, now and then it is -inf; so
/// is the `lse` that the forward merges into.
inline AttentionCase make_case(Rng& rng, const AttentionShape& shape, int64_t q_rows,
                               int64_t kv_rows, bool gaps) {
  const AttentionShape& s = shape;
  AttentionCase out{.shape = shape, .tasks = {}};
  out.q = random_rows(rng, q_rows, s.heads, s.head_dim, gaps);
  out.k = random_rows(rng, kv_rows, s.kv_heads, s.head_dim, gaps);
  out.v = random_rows(rng, kv_rows, s.kv_heads, s.v_head_dim, gaps);
  out.o = random_rows(rng, q_rows, s.heads, s.v_head_dim, gaps);
  out.lse = random_rows(rng, q_rows, s.heads, 1, gaps, -1, 6);
  out.d_o = random_rows(rng, q_rows, s.heads, s.v_head_dim, gaps);
  out.row_lse = random_rows(rng, q_rows, s.heads, 1, gaps, 3, 6);
  out.delta = random_rows(rng, q_rows, s.heads, 1, gaps);
  out.dq = random_rows(rng, q_rows, s.heads, s.head_dim, gaps);
  out.dk = random_rows(rng, kv_rows, s.kv_heads, s.head_dim, gaps);
  out.dv = random_rows(rng, kv_rows, s.kv_heads, s.v_head_dim, gaps);
  for (TestRows* rows : {&out.lse, &out.row_lse}) {
    rows->set([&](int64_t row, int64_t head, int64_t) {
      return uniform_below(rng, 8) == 0 ? -std::numeric_limits<float>::infinity()
                                        : *rows->view.f32(row, head);
    });
  }
  return out;
}

/// All heads, all rows on all rows.
inline AttentionTask whole_task(const AttentionCase& c, Band band) {
  return {.q_begin = 0,
          .q_rows = c.q.view.rows,
          .kv_begin = 0,
          .kv_rows = c.k.view.rows,
          .lowest = band.lowest,
          .highest = band.highest,
          .head_begin = 0,
          .head_end = c.shape.heads};
}

/// The causal band whose last query sees the last key.
inline Band causal_bottom_right(int64_t q_rows, int64_t kv_rows) {
  return {Band::kUnboundedBelow, kv_rows - q_rows};
}

/// Relative to the largest element, for sums over `keys` keys of `dim` numbers (docs/numerics.md,
/// attention).
inline double forward_tolerance(int64_t keys, int64_t dim) {
  const auto root = [](int64_t n) { return std::sqrt(static_cast<double>(n)); };
  return 0x1p-24 * (16 + 2 * root(dim) + 2 * root(keys));
}
inline double backward_tolerance(int64_t rows, int64_t dim) {
  return 4 * forward_tolerance(rows, dim);
}

/// Success where every element of `view` is within tolerance × (largest finite |expected|, at least
/// 1) of the expected, or is the same infinity. NaN fails.
inline testing::AssertionResult rows_close(const RowsView& view,
                                           const std::vector<double>& expected, double tolerance) {
  double largest = 1;
  for (const double x : expected) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  const std::vector<double> got = as_doubles(view);
  if (got.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i];
    if (same || std::abs(got[i] - expected[i]) <= tolerance * largest) continue;
    const auto width = static_cast<size_t>(view.heads * view.dim);
    return testing::AssertionFailure()
           << "row " << i / width << ", head " << i % width / static_cast<size_t>(view.dim)
           << ", element " << i % static_cast<size_t>(view.dim) << ": got " << got[i]
           << ", expected " << expected[i] << ", tolerance " << tolerance << " of " << largest;
  }
  return testing::AssertionSuccess();
}

/// The backward as the runtime calls it: with the LSE and delta = rowsum(dO ∘ O) of the forward.
inline void forward_and_backward(AttentionCase& c, Backend& backend) {
  backend.attention_forward(c.forward());
  c.row_lse.set([&](int64_t row, int64_t head, int64_t) { return *c.lse.view.f32(row, head); });
  backend.row_dot(c.d_o.view, c.o.view, c.delta.view);
  backend.attention_backward(c.backward());
}

inline void set_all(TestRows& rows, float value) {
  rows.set([=](int64_t, int64_t, int64_t) { return value; });
}

/// Every instruction set of this processor, one test each.
class EveryIsa : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> backend(int threads = 1) const {
    return cpu::make_backend(threads, GetParam());
  }
};

}  // namespace cadenza
