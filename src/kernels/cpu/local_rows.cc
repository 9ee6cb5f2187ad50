#include "kernels/cpu/local_rows.h"

#include <cstring>

#include "kernels/cpu/merge_row.h"
#include "kernels/cpu/row_slices.h"

namespace cadenza::cpu {
namespace {

void check_alike(const RowsView& from, const RowsView& to) {
  check_host(from);
  check_host(to);
  CADENZA_CHECK(from.heads == to.heads && from.dim == to.dim, "from ", from.heads, " heads of ",
                from.dim, " to ", to.heads, " of ", to.dim);
}

/// Calls body(from_row, to_rows, heads) for slices of the longest stretches that lie in one run on
/// either side; row from_row + i belongs to row to_rows.begin + i.
template <typename Body>
void for_matched_slices(const RowsView& from, std::span<const RowRun> from_runs, const RowsView& to,
                        std::span<const RowRun> to_runs, const ParallelFor& parallel,
                        const Body& body) {
  size_t run = 0;      // of from_runs
  int64_t passed = 0;  // rows of it
  for (const RowRun& target : to_runs) {
    check_run(to, target);
    for (int64_t row = target.rows.begin; row < target.rows.end;) {
      while (run < from_runs.size() && passed == from_runs[run].rows.size()) {
        ++run;
        passed = 0;
      }
      CADENZA_CHECK(run < from_runs.size() && from_runs[run].heads == target.heads, "rows ",
                    target.rows, ", heads ", target.heads, " have no source");
      check_run(from, from_runs[run]);
      const int64_t rows = std::min(target.rows.end - row, from_runs[run].rows.size() - passed);
      const int64_t shift = from_runs[run].rows.begin + passed - row;
      const int64_t row_bytes = target.heads.size() * to.dim * dtype_bytes(to.dtype);
      for_slices({row, row + rows}, row_bytes, parallel,
                 [&](Range slice) { body(slice.begin + shift, slice, target.heads); });
      row += rows;
      passed += rows;
    }
  }
}

/// Calls body(from, to, elements) for the longest pieces without gaps on either side.
template <typename From, typename To, typename Body>
void for_matched_pieces(const RowsView& from, int64_t from_row, const RowsView& to, Range rows,
                        Range heads, const Body& body) {
  const Gaps gaps = std::max(gaps_of(from, heads), gaps_of(to, heads));
  const int64_t shift = from_row - rows.begin;
  for_pieces(gaps, rows, heads, to.dim, [&](int64_t row, int64_t head, int64_t elements) {
    body(address<const From>(from, row + shift, head), address<To>(to, row, head), elements);
  });
}

}  // namespace

void copy_rows(const RowsView& from, std::span<const RowRun> from_runs, const RowsView& to,
               std::span<const RowRun> to_runs, const ParallelFor& parallel) {
  check_alike(from, to);
  CADENZA_CHECK(from.dtype == to.dtype, dtype_name(from.dtype), " to ", dtype_name(to.dtype));
  with_element_type(to.dtype, [&]<typename T>(T) {
    for_matched_slices(
        from, from_runs, to, to_runs, parallel, [&](int64_t from_row, Range rows, Range heads) {
          for_matched_pieces<T, T>(
              from, from_row, to, rows, heads, [](const T* source, T* target, int64_t elements) {
                std::memcpy(target, source, static_cast<size_t>(elements) * sizeof(T));
              });
        });
  });
}

void add_rows(const RowsView& from, std::span<const RowRun> from_runs,
              std::span<const RowRun> to_runs, const RowsView& to, const ParallelFor& parallel) {
  check_alike(from, to);
  check_fp32(to);
  with_element_type(from.dtype, [&]<typename T>(T) {
    for_matched_slices(
        from, from_runs, to, to_runs, parallel, [&](int64_t from_row, Range rows, Range heads) {
          for_matched_pieces<T, float>(from, from_row, to, rows, heads,
                                       [](const T* source, float* target, int64_t elements) {
                                         for (int64_t i = 0; i < elements; ++i)
                                           target[i] += to_float(source[i]);
                                       });
        });
  });
}

void merge_rows(const RowsView& from_o, const RowsView& from_lse, std::span<const RowRun> from_runs,
                std::span<const RowRun> to_runs, const RowsView& o, const RowsView& lse,
                const ParallelFor& parallel) {
  check_alike(from_o, o);
  check_alike(from_lse, lse);
  check_fp32(from_lse);
  check_fp32(o);
  check_fp32(lse);
  for (const RowRun& run : to_runs) check_run(lse, run);
  with_element_type(from_o.dtype, [&]<typename T>(T) {
    for_matched_slices(from_o, from_runs, o, to_runs, parallel,
                       [&](int64_t from_row, Range rows, Range heads) {
                         const int64_t shift = from_row - rows.begin;
                         for (int64_t row = rows.begin; row < rows.end; ++row) {
                           for (int64_t head = heads.begin; head < heads.end; ++head) {
                             merge_row(address<const T>(from_o, row + shift, head),
                                       *from_lse.f32(row + shift, head), o.dim, o.f32(row, head),
                                       lse.f32(row, head));
                           }
                         }
                       });
  });
}

}  // namespace cadenza::cpu
