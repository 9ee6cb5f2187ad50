#pragma once

#include <span>

#include "core/row_run.h"
#include "kernels/attention.h"

/// Row operations from buffer to buffer of one rank, without packing, with the meaning that Backend
/// gives them. Two lists of runs name the same rows and heads in the order in which they would be
/// packed; runs may end at different rows.
namespace cadenza::cpu {

void copy_rows(const RowsView& from, std::span<const RowRun> from_runs, const RowsView& to,
               std::span<const RowRun> to_runs, const ParallelFor& parallel);
void add_rows(const RowsView& from, std::span<const RowRun> from_runs,
              std::span<const RowRun> to_runs, const RowsView& to, const ParallelFor& parallel);
void merge_rows(const RowsView& from_o, const RowsView& from_lse, std::span<const RowRun> from_runs,
                std::span<const RowRun> to_runs, const RowsView& o, const RowsView& lse,
                const ParallelFor& parallel);

}  // namespace cadenza::cpu
