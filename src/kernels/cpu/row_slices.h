#pragma once

#include <algorithm>
#include <span>

#include "base/check.h"
#include "core/row_run.h"
#include "kernels/attention.h"

/// How the row operations walk over rows: in slices that go to the threads, and inside a slice in
/// the longest pieces of memory without gaps.
namespace cadenza::cpu {

/// Bytes of one slice: large against the microseconds that waking a team costs, small against a
/// layer's rows.
constexpr int64_t kSliceBytes = 256 * 1024;

inline void check_host(const RowsView& view) {
  CADENZA_CHECK(view.device == Device::kCpu, "the CPU backend was handed memory of another device");
}

inline void check_fp32(const RowsView& view) {
  check_host(view);
  CADENZA_CHECK(view.dtype == Dtype::kFloat32, "expected fp32 rows, got ", dtype_name(view.dtype),
                "; convert them first");
}

inline void check_run(const RowsView& view, const RowRun& run) {
  CADENZA_CHECK(Range({0, view.rows}).contains(run.rows) && run.rows.size() >= 0, "rows ", run.rows,
                " of a buffer of ", view.rows);
  CADENZA_CHECK(Range({0, view.heads}).contains(run.heads) && run.heads.size() >= 0, "heads ",
                run.heads, " of a buffer of ", view.heads);
}

/// Calls body(T()) with the element type of `dtype`.
template <typename Body>
void with_element_type(Dtype dtype, const Body& body) {
  dtype == Dtype::kFloat32 ? body(float()) : body(BFloat16());
}

template <typename T>
T* address(const RowsView& view, int64_t row, int64_t head) {
  return static_cast<T*>(view.data) + row * view.row_stride + head * view.head_stride;
}

/// Calls body(rows) for slices of `rows` whose rows are row_bytes long.
template <typename Body>
void for_slices(Range rows, int64_t row_bytes, const ParallelFor& parallel, const Body& body) {
  if (rows.empty() || row_bytes == 0) return;
  const int64_t step = std::max<int64_t>(1, kSliceBytes / row_bytes);
  const int64_t slices = (rows.size() + step - 1) / step;
  if (slices == 1) return body(rows);
  parallel(slices, [&](int64_t i) {
    const int64_t begin = rows.begin + i * step;
    body(Range{begin, std::min(rows.end, begin + step)});
  });
}

/// Calls body(rows, heads, offset) for every slice of every run, where `offset` counts the packed
/// elements before it.
template <typename Body>
void for_run_slices(const RowsView& view, std::span<const RowRun> runs, const ParallelFor& parallel,
                    const Body& body) {
  int64_t base = 0;
  for (const RowRun& run : runs) {
    check_run(view, run);
    const int64_t row_elements = run.heads.size() * view.dim;
    for_slices(run.rows, row_elements * dtype_bytes(view.dtype), parallel, [&](Range rows) {
      body(rows, run.heads, base + (rows.begin - run.rows.begin) * row_elements);
    });
    base += run.rows.size() * row_elements;
  }
}

/// Where the elements of some heads of a view do not touch.
enum class Gaps { kNone, kBetweenRows, kBetweenHeads };

inline Gaps gaps_of(const RowsView& view, Range heads) {
  if (heads.size() != 1 && view.head_stride != view.dim) return Gaps::kBetweenHeads;
  return view.row_stride == heads.size() * view.dim ? Gaps::kNone : Gaps::kBetweenRows;
}

/// Calls body(row, head, elements) for the longest pieces without gaps that the slice consists of,
/// in the order in which they are packed.
template <typename Body>
void for_pieces(Gaps gaps, Range rows, Range heads, int64_t dim, const Body& body) {
  if (gaps == Gaps::kNone) return body(rows.begin, heads.begin, rows.size() * heads.size() * dim);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    if (gaps == Gaps::kBetweenRows) {
      body(row, heads.begin, heads.size() * dim);
      continue;
    }
    for (int64_t head = heads.begin; head < heads.end; ++head) body(row, head, dim);
  }
}

}  // namespace cadenza::cpu
