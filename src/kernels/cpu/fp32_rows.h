#pragma once

#include "base/memory.h"
#include "kernels/cpu/row_ops.h"

namespace cadenza::cpu {

/// Host rows of either dtype, for a kernel that knows fp32 alone: the rows themselves where they
/// are fp32, else a converted copy of them all.
class Fp32Rows {
 public:
  Fp32Rows(const RowsView& rows, const ParallelFor& parallel) : rows_(rows), parallel_(parallel) {
    if (rows.dtype == Dtype::kFloat32) return;
    copy_ = HostBlock(rows.rows * rows.heads * rows.dim * dtype_bytes(Dtype::kFloat32));
    convert_rows(rows, view(), parallel);
  }

  RowsView view() const {
    if (rows_.dtype == Dtype::kFloat32) return rows_;
    return contiguous_rows(reinterpret_cast<float*>(copy_.data()), rows_.rows, rows_.heads,
                           rows_.dim);
  }

  /// After the kernel wrote to view(): rounds it into the rows. What it did not touch keeps its
  /// value.
  void write_back() const {
    if (rows_.dtype != Dtype::kFloat32) convert_rows(view(), rows_, parallel_);
  }

 private:
  RowsView rows_;
  const ParallelFor& parallel_;
  HostBlock copy_;
};

}  // namespace cadenza::cpu
