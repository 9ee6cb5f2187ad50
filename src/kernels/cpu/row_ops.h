#pragma once

#include <cstddef>
#include <span>

#include "core/row_run.h"
#include "kernels/attention.h"

/// The row operations of Backend on the host, with the meaning that Backend gives them. A run is
/// cut into slices of rows that go to the threads; runs follow one another, so that runs that share
/// rows are still added in their order.
namespace cadenza::cpu {

void pack_rows(const RowsView& source, std::span<const RowRun> runs, std::byte* packed,
               const ParallelFor& parallel);
void unpack_rows(const std::byte* packed, std::span<const RowRun> runs, const RowsView& target,
                 const ParallelFor& parallel);
void add_rows(const std::byte* packed, Dtype packed_dtype, std::span<const RowRun> runs,
              const RowsView& target, const ParallelFor& parallel);
void merge_rows(const std::byte* packed_o, Dtype packed_dtype, const std::byte* packed_lse,
                std::span<const RowRun> runs, const RowsView& o, const RowsView& lse,
                const ParallelFor& parallel);
void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta,
             const ParallelFor& parallel);
void fill(const RowsView& view, float value, const ParallelFor& parallel);
void convert_rows(const RowsView& from, const RowsView& to, const ParallelFor& parallel);

}  // namespace cadenza::cpu
