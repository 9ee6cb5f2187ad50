// The row operations that add: sums in fp32, whatever the rows' dtype.
#include <cstring>

#include "kernels/cpu/merge_row.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/row_slices.h"

namespace cadenza::cpu {
namespace {

template <typename T>
void add(const T* source, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] += to_float(source[i]);
}

/// Eight sums side by side: a fixed order that a compiler can keep in vector lanes.
template <typename A, typename B>
float dot(const A* a, const B* b, int64_t count) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      lanes[lane] += to_float(a[i + lane]) * to_float(b[i + lane]);
    }
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += to_float(a[i]) * to_float(b[i]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// Behind an odd number of bf16 elements a packed float has no float's alignment.
float load_float(const std::byte* packed, int64_t index) {
  float value = 0;
  std::memcpy(&value, packed + index * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

template <typename T>
void merge_slice(const T* packed_o, const std::byte* packed_lse, Range rows, Range heads,
                 const RowsView& o, const RowsView& lse) {
  int64_t pair = 0;  // of row and head
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t head = heads.begin; head < heads.end; ++head, ++pair) {
      merge_row(packed_o + pair * o.dim, load_float(packed_lse, pair), o.dim, o.f32(row, head),
                lse.f32(row, head));
    }
  }
}

}  // namespace

void add_rows(const std::byte* packed, Dtype packed_dtype, std::span<const RowRun> runs,
              const RowsView& target, const ParallelFor& parallel) {
  check_fp32(target);
  with_element_type(packed_dtype, [&]<typename T>(T) {
    for_run_slices(target, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
      const T* next = reinterpret_cast<const T*>(packed) + offset;
      for_pieces(gaps_of(target, heads), rows, heads, target.dim,
                 [&](int64_t row, int64_t head, int64_t elements) {
                   add(next, elements, target.f32(row, head));
                   next += elements;
                 });
    });
  });
}

void merge_rows(const std::byte* packed_o, Dtype packed_dtype, const std::byte* packed_lse,
                std::span<const RowRun> runs, const RowsView& o, const RowsView& lse,
                const ParallelFor& parallel) {
  check_fp32(o);
  check_fp32(lse);
  for (const RowRun& run : runs) check_run(lse, run);
  with_element_type(packed_dtype, [&]<typename T>(T) {
    for_run_slices(o, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
      const int64_t lse_bytes = offset / o.dim * static_cast<int64_t>(sizeof(float));
      merge_slice(reinterpret_cast<const T*>(packed_o) + offset, packed_lse + lse_bytes, rows,
                  heads, o, lse);
    });
  });
}

void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta,
             const ParallelFor& parallel) {
  check_host(d_o);
  check_host(o);
  check_fp32(delta);
  CADENZA_CHECK(d_o.rows == o.rows && d_o.heads == o.heads && d_o.dim == o.dim);
  CADENZA_CHECK(delta.rows == o.rows && delta.heads == o.heads && delta.dim == 1);
  with_element_type(d_o.dtype, [&]<typename A>(A) {
    with_element_type(o.dtype, [&]<typename B>(B) {
      for_slices({0, o.rows}, 4 * o.heads * o.dim, parallel, [&](Range rows) {
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          for (int64_t head = 0; head < o.heads; ++head) {
            *delta.f32(row, head) =
                dot(address<const A>(d_o, row, head), address<const B>(o, row, head), o.dim);
          }
        }
      });
    });
  });
}

}  // namespace cadenza::cpu
