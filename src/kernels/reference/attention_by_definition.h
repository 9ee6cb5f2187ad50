#pragma once

#include <functional>
#include <vector>

#include "kernels/reference/reference_attention.h"

namespace cadenza {

/// Attention as it is defined: for every row and query head one softmax over the scores of all keys
/// that the row sees and, where there is one, the head's sink logit. A sink has no value row: it
/// takes probability and adds nothing.
struct DefinedAttention {
  AttentionShape shape;
  RowsView q, k, v;                                // fp32 on the host, as in ForwardArgs
  std::function<bool(int64_t q, int64_t k)> sees;  // by rows of the buffers
  std::vector<double> sinks;                       // [heads] logits; empty: no sink
};

struct DefinedGradients {
  std::vector<double> dq, dk, dv;  // shaped as q, k, v, packed
  std::vector<double> d_sinks;     // [heads]; empty without sinks
};

/// Plain loops in double over pairs, without tasks, bands, partials or a running maximum: what
/// masks, splits and sinks are judged by. A row that sees nothing and has no sink gives O = 0,
/// LSE = -inf and no gradient.
ReferenceForward defined_forward(const DefinedAttention& attention);

/// Gradients of sum(O ∘ d_o), by the derivative of the softmax over all its columns.
DefinedGradients defined_backward(const DefinedAttention& attention, const RowsView& d_o);

}  // namespace cadenza
