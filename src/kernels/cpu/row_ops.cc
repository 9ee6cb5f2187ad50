// The row operations that move rows; row_sums.cc has those that add.
#include "kernels/cpu/row_ops.h"

#include <cstring>

#include "kernels/cpu/row_slices.h"

namespace cadenza::cpu {
namespace {

size_t copy_size(int64_t elements, const RowsView& view) {
  return static_cast<size_t>(elements * dtype_bytes(view.dtype));
}

void* address_of(const RowsView& view, int64_t row, int64_t head) {
  if (view.dtype == Dtype::kFloat32) return address<float>(view, row, head);
  return address<BFloat16>(view, row, head);
}

void convert(const float* from, int64_t count, BFloat16* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}
void convert(const BFloat16* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}
template <typename T>
void convert(const T* from, int64_t count, T* to) {
  std::copy_n(from, count, to);
}

}  // namespace

void pack_rows(const RowsView& source, std::span<const RowRun> runs, std::byte* packed,
               const ParallelFor& parallel) {
  check_host(source);
  for_run_slices(source, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    std::byte* next = packed + copy_size(offset, source);
    for_pieces(gaps_of(source, heads), rows, heads, source.dim,
               [&](int64_t row, int64_t head, int64_t elements) {
                 const size_t bytes = copy_size(elements, source);
                 std::memcpy(next, address_of(source, row, head), bytes);
                 next += bytes;
               });
  });
}

void unpack_rows(const std::byte* packed, std::span<const RowRun> runs, const RowsView& target,
                 const ParallelFor& parallel) {
  check_host(target);
  for_run_slices(target, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    const std::byte* next = packed + copy_size(offset, target);
    for_pieces(gaps_of(target, heads), rows, heads, target.dim,
               [&](int64_t row, int64_t head, int64_t elements) {
                 const size_t bytes = copy_size(elements, target);
                 std::memcpy(address_of(target, row, head), next, bytes);
                 next += bytes;
               });
  });
}

void fill(const RowsView& view, float value, const ParallelFor& parallel) {
  check_host(view);
  const Range heads{0, view.heads};
  const int64_t row_bytes = view.heads * view.dim * dtype_bytes(view.dtype);
  for_slices({0, view.rows}, row_bytes, parallel, [&](Range rows) {
    for_pieces(gaps_of(view, heads), rows, heads, view.dim,
               [&](int64_t row, int64_t head, int64_t elements) {
                 if (view.dtype == Dtype::kFloat32) {
                   std::fill_n(view.f32(row, head), elements, value);
                 } else {
                   std::fill_n(view.bf16(row, head), elements, to_bf16(value));
                 }
               });
  });
}

void convert_rows(const RowsView& from, const RowsView& to, const ParallelFor& parallel) {
  check_host(from);
  check_host(to);
  CADENZA_CHECK(from.rows == to.rows && from.heads == to.heads && from.dim == to.dim, "from [",
                from.rows, ", ", from.heads, ", ", from.dim, "] to [", to.rows, ", ", to.heads,
                ", ", to.dim, "]");
  const Range heads{0, from.heads};
  const Gaps gaps = std::max(gaps_of(from, heads), gaps_of(to, heads));
  for_slices({0, from.rows}, 4 * from.heads * from.dim, parallel, [&](Range rows) {
    for_pieces(gaps, rows, heads, from.dim, [&](int64_t row, int64_t head, int64_t elements) {
      with_element_type(from.dtype, [&]<typename From>(From) {
        with_element_type(to.dtype, [&]<typename To>(To) {
          convert(address<const From>(from, row, head), elements, address<To>(to, row, head));
        });
      });
    });
  });
}

}  // namespace cadenza::cpu
