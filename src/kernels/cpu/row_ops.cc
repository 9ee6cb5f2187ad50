#include "kernels/cpu/row_ops.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/merge_row.h"

namespace cadenza::cpu {
namespace {

/// Bytes of one slice: large against the microseconds that waking a team costs, small against a
/// layer's rows.
constexpr int64_t kSliceBytes = 256 * 1024;

void check_host(const RowsView& view) {
  CADENZA_CHECK(view.device == Device::kCpu, "the CPU backend was handed memory of another device");
}

void check_fp32(const RowsView& view) {
  check_host(view);
  CADENZA_CHECK(view.dtype == Dtype::kFloat32, "expected fp32 rows, got ", dtype_name(view.dtype),
                "; convert them first");
}

void check_run(const RowsView& view, const RowRun& run) {
  CADENZA_CHECK(Range({0, view.rows}).contains(run.rows) && run.rows.size() >= 0, "rows ", run.rows,
                " of a buffer of ", view.rows);
  CADENZA_CHECK(Range({0, view.heads}).contains(run.heads) && run.heads.size() >= 0, "heads ",
                run.heads, " of a buffer of ", view.heads);
}

std::byte* address(const RowsView& view, int64_t row, int64_t head) {
  const int64_t element = row * view.row_stride + head * view.head_stride;
  return static_cast<std::byte*>(view.data) + element * dtype_bytes(view.dtype);
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
/// bytes before it.
template <typename Body>
void for_run_slices(const RowsView& view, std::span<const RowRun> runs, const ParallelFor& parallel,
                    const Body& body) {
  int64_t base = 0;
  for (const RowRun& run : runs) {
    check_run(view, run);
    const int64_t row_bytes = run.heads.size() * view.dim * dtype_bytes(view.dtype);
    for_slices(run.rows, row_bytes, parallel, [&](Range rows) {
      body(rows, run.heads, base + (rows.begin - run.rows.begin) * row_bytes);
    });
    base += run.rows.size() * row_bytes;
  }
}

/// Calls body(row, head, bytes) for the longest pieces of memory without gaps that the slice
/// consists of.
template <typename Body>
void for_pieces(const RowsView& view, Range rows, Range heads, const Body& body) {
  const int64_t head_bytes = view.dim * dtype_bytes(view.dtype);
  const bool heads_touch = heads.size() == 1 || view.head_stride == view.dim;
  if (heads_touch && view.row_stride == heads.size() * view.dim) {
    return body(rows.begin, heads.begin, rows.size() * heads.size() * head_bytes);
  }
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    if (heads_touch) {
      body(row, heads.begin, heads.size() * head_bytes);
      continue;
    }
    for (int64_t head = heads.begin; head < heads.end; ++head) body(row, head, head_bytes);
  }
}

void add(const float* source, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] += source[i];
}

/// Eight sums side by side: a fixed order that a compiler can keep in vector lanes.
float dot(const float* a, const float* b, int64_t count) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += a[i] * b[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

void pack_rows(const RowsView& source, std::span<const RowRun> runs, std::byte* packed,
               const ParallelFor& parallel) {
  check_host(source);
  for_run_slices(source, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    std::byte* next = packed + offset;
    for_pieces(source, rows, heads, [&](int64_t row, int64_t head, int64_t bytes) {
      std::memcpy(next, address(source, row, head), static_cast<size_t>(bytes));
      next += bytes;
    });
  });
}

void unpack_rows(const std::byte* packed, std::span<const RowRun> runs, const RowsView& target,
                 const ParallelFor& parallel) {
  check_host(target);
  for_run_slices(target, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    const std::byte* next = packed + offset;
    for_pieces(target, rows, heads, [&](int64_t row, int64_t head, int64_t bytes) {
      std::memcpy(address(target, row, head), next, static_cast<size_t>(bytes));
      next += bytes;
    });
  });
}

void add_rows(const std::byte* packed, std::span<const RowRun> runs, const RowsView& target,
              const ParallelFor& parallel) {
  check_fp32(target);
  for_run_slices(target, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    const float* next = reinterpret_cast<const float*>(packed + offset);
    for_pieces(target, rows, heads, [&](int64_t row, int64_t head, int64_t bytes) {
      const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
      add(next, count, target.f32(row, head));
      next += count;
    });
  });
}

void merge_rows(const std::byte* packed_o, const std::byte* packed_lse,
                std::span<const RowRun> runs, const RowsView& o, const RowsView& lse,
                const ParallelFor& parallel) {
  check_fp32(o);
  check_fp32(lse);
  for (const RowRun& run : runs) check_run(lse, run);
  for_run_slices(o, runs, parallel, [&](Range rows, Range heads, int64_t offset) {
    const float* next_o = reinterpret_cast<const float*>(packed_o + offset);
    const float* next_lse = reinterpret_cast<const float*>(packed_lse) +
                            offset / static_cast<int64_t>(sizeof(float)) / o.dim;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t head = heads.begin; head < heads.end; ++head, next_o += o.dim, ++next_lse) {
        merge_row(next_o, *next_lse, o.dim, o.f32(row, head), lse.f32(row, head));
      }
    }
  });
}

void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta,
             const ParallelFor& parallel) {
  for (const RowsView* view : {&d_o, &o, &delta}) check_fp32(*view);
  CADENZA_CHECK(d_o.rows == o.rows && d_o.heads == o.heads && d_o.dim == o.dim);
  CADENZA_CHECK(delta.rows == o.rows && delta.heads == o.heads && delta.dim == 1);
  for_slices({0, o.rows}, 4 * o.heads * o.dim, parallel, [&](Range rows) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t head = 0; head < o.heads; ++head) {
        *delta.f32(row, head) = dot(d_o.f32(row, head), o.f32(row, head), o.dim);
      }
    }
  });
}

void fill(const RowsView& view, float value, const ParallelFor& parallel) {
  check_fp32(view);
  const Range heads{0, view.heads};
  for_slices({0, view.rows}, 4 * view.heads * view.dim, parallel, [&](Range rows) {
    for_pieces(view, rows, heads, [&](int64_t row, int64_t head, int64_t bytes) {
      std::fill_n(view.f32(row, head), bytes / static_cast<int64_t>(sizeof(float)), value);
    });
  });
}

}  // namespace cadenza::cpu
