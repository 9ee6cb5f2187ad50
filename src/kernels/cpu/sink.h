#pragma once

#include "kernels/attention.h"

/// Sink logits on the host, with the meaning that Backend gives them.
namespace cadenza::cpu {

void apply_sinks(const RowsView& sinks, const RowsView& o, const RowsView& lse,
                 const ParallelFor& parallel);
void add_sink_gradients(const RowsView& sinks, const RowsView& lse, const RowsView& delta,
                        const RowsView& d_sinks, const ParallelFor& parallel);

}  // namespace cadenza::cpu
