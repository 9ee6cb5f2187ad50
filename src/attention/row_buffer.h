#pragma once

#include "base/memory.h"
#include "base/rows_view.h"

namespace cadenza {

/// Owned rows [rows, heads, dim], packed, counted. Content undefined until written.
class RowBuffer {
 public:
  RowBuffer() = default;
  RowBuffer(int64_t rows, int64_t heads, int64_t dim, Dtype dtype)
      : block_(rows * heads * dim * dtype_bytes(dtype)),
        view_(contiguous_rows(block_.data(), dtype, rows, heads, dim)) {}

  const RowsView& view() const { return view_; }

 private:
  HostBlock block_;
  RowsView view_;
};

}  // namespace cadenza
