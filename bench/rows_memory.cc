#include "bench/rows_memory.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <new>

namespace cadenza::bench {
namespace {

constexpr size_t kAlignment = 64;  // a cache line

/// The upper half of the float: rounding does not matter for random numbers.
uint16_t truncated_to_bf16(float x) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
}

}  // namespace

RowsMemory::RowsMemory(int64_t rows, int64_t heads, int64_t dim, Dtype dtype) {
  const auto bytes = static_cast<size_t>(rows * heads * dim * dtype_bytes(dtype));
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, rounded);  // touches the pages before anything is timed
  view_ = {.data = memory_.get(),
           .rows = rows,
           .heads = heads,
           .dim = dim,
           .row_stride = heads * dim,
           .head_stride = dim,
           .dtype = dtype};
}

void RowsMemory::fill_random(Rng& rng) {
  const float half_width = std::sqrt(3.0f);
  const int64_t elements = view_.rows * view_.row_stride;
  for (int64_t i = 0; i < elements; ++i) {
    const float x = half_width * (static_cast<float>(rng() >> 40) * 0x1p-23f - 1.0f);
    if (view_.dtype == Dtype::kFloat32) {
      static_cast<float*>(view_.data)[i] = x;
    } else {
      static_cast<uint16_t*>(view_.data)[i] = truncated_to_bf16(x);
    }
  }
}

}  // namespace cadenza::bench
