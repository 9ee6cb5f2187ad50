#include "kernels/cpu/sink.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "core/range.h"

namespace cadenza::cpu {
namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();

/// Rows of one work unit, and of one first-level sum. Fixed, because the grouping of a sum shows in
/// its last bits: it may depend on nothing but the number of rows.
constexpr int64_t kChunkRows = 256;

void check_rows(const char* name, const RowsView& view, int64_t rows, int64_t heads, int64_t dim) {
  CADENZA_CHECK(view.device == Device::kCpu, "the CPU backend was handed memory of another device");
  CADENZA_CHECK(view.dtype == Dtype::kFloat32, "expected ", name, " in fp32, got ",
                dtype_name(view.dtype), "; convert it first");
  CADENZA_CHECK(view.rows == rows && view.heads == heads && view.dim == dim, "expected ", name,
                " of [", rows, ", ", heads, ", ", dim, "], got [", view.rows, ", ", view.heads,
                ", ", view.dim, "]");
}

int64_t chunks_of(int64_t rows) { return (rows + kChunkRows - 1) / kChunkRows; }

Range chunk_rows(int64_t chunk, int64_t rows) {
  return {chunk * kChunkRows, std::min(rows, (chunk + 1) * kChunkRows)};
}

/// One row of one head. In double, so that what shows is the rounding of the results alone.
void apply_sink(float sink, float* o, int64_t dim, float* lse) {
  if (sink == kEmpty) return;
  if (*lse == kEmpty) {
    std::fill_n(o, dim, 0.0f);
    *lse = sink;
    return;
  }
  const double above = static_cast<double>(sink) - *lse;
  const auto share = static_cast<float>(1 / (1 + std::exp(above)));  // exp(lse - lse')
  for (int64_t d = 0; d < dim; ++d) o[d] *= share;
  const double largest = above > 0 ? sink : *lse;
  *lse = static_cast<float>(largest + std::log1p(std::exp(-std::abs(above))));
}

/// Probability of the sink times delta, summed over the chunk's rows, into sums[heads].
void sum_chunk(const RowsView& sinks, const RowsView& lse, const RowsView& delta, Range rows,
               double* sums) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t head = 0; head < lse.heads; ++head) {
      const double sink = *sinks.f32(0, head);
      sums[head] += std::exp(sink - *lse.f32(row, head)) * *delta.f32(row, head);
    }
  }
}

}  // namespace

void apply_sinks(const RowsView& sinks, const RowsView& o, const RowsView& lse,
                 const ParallelFor& parallel) {
  check_rows("sinks", sinks, 1, o.heads, 1);
  check_rows("o", o, o.rows, o.heads, o.dim);
  check_rows("lse", lse, o.rows, o.heads, 1);
  parallel(chunks_of(o.rows), [&](int64_t chunk) {
    const Range rows = chunk_rows(chunk, o.rows);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t head = 0; head < o.heads; ++head) {
        apply_sink(*sinks.f32(0, head), o.f32(row, head), o.dim, lse.f32(row, head));
      }
    }
  });
}

void add_sink_gradients(const RowsView& sinks, const RowsView& lse, const RowsView& delta,
                        const RowsView& d_sinks, const ParallelFor& parallel) {
  const int64_t heads = lse.heads, chunks = chunks_of(lse.rows);
  check_rows("sinks", sinks, 1, heads, 1);
  check_rows("lse", lse, lse.rows, heads, 1);
  check_rows("delta", delta, lse.rows, heads, 1);
  check_rows("d_sinks", d_sinks, 1, heads, 1);
  std::vector<double> sums(static_cast<size_t>(chunks * heads));
  parallel(chunks, [&](int64_t chunk) {
    sum_chunk(sinks, lse, delta, chunk_rows(chunk, lse.rows), sums.data() + chunk * heads);
  });
  for (int64_t head = 0; head < heads; ++head) {
    if (*sinks.f32(0, head) == kEmpty) continue;  // no sink: its row may hold an LSE of -inf
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      sum += sums[static_cast<size_t>(chunk * heads + head)];
    }
    *d_sinks.f32(0, head) -= static_cast<float>(sum);
  }
}

}  // namespace cadenza::cpu
