#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bf16.h"
#include "base/units.h"

namespace cadenza {

/// Where a buffer lies. Only kernels, and the backend that chooses them, look at it.
enum class Device { kCpu, kCuda };

/// A view of rows [rows, heads, dim] with strides in elements; the last dim is contiguous. All
/// index arithmetic is 64-bit: rows × row_stride passes 2^31 in long packs. A view of LSE or D has
/// dim 1.
struct RowsView {
  void* data = nullptr;
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t dim = 0;
  int64_t row_stride = 0;
  int64_t head_stride = 0;
  Dtype dtype = Dtype::kFloat32;
  Device device = Device::kCpu;

  float* f32(int64_t row, int64_t head) const {
    return static_cast<float*>(data) + row * row_stride + head * head_stride;
  }
  BFloat16* bf16(int64_t row, int64_t head) const {
    return static_cast<BFloat16*>(data) + row * row_stride + head * head_stride;
  }
};

/// Rows packed without gaps, on the host.
inline RowsView contiguous_rows(void* data, Dtype dtype, int64_t rows, int64_t heads, int64_t dim) {
  return {.data = data,
          .rows = rows,
          .heads = heads,
          .dim = dim,
          .row_stride = heads * dim,
          .head_stride = dim,
          .dtype = dtype};
}
inline RowsView contiguous_rows(float* data, int64_t rows, int64_t heads, int64_t dim) {
  return contiguous_rows(data, Dtype::kFloat32, rows, heads, dim);
}
inline RowsView contiguous_rows(BFloat16* data, int64_t rows, int64_t heads, int64_t dim) {
  return contiguous_rows(data, Dtype::kBFloat16, rows, heads, dim);
}

}  // namespace cadenza
