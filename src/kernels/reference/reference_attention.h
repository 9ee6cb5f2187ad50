#pragma once

#include <vector>

#include "kernels/attention.h"

namespace cadenza {

/// What a forward call leaves in its outputs, in double: the whole buffers, packed.
struct ReferenceForward {
  std::vector<double> o;    // [q rows, heads, v_head_dim]
  std::vector<double> lse;  // [q rows, heads]
};

/// Plain loops in double over fp32 inputs on the host: the oracle of every other kernel. Starts
/// from what args.o and args.lse hold (rows that no task names come back as they are) and writes
/// neither.
ReferenceForward reference_forward(const ForwardArgs& args);

/// What a backward call leaves in its outputs, in double, packed: what they hold before plus the
/// gradients.
struct ReferenceBackward {
  std::vector<double> dq;  // [q rows, heads, head_dim]
  std::vector<double> dk;  // [kv rows, kv_heads, head_dim]
  std::vector<double> dv;  // [kv rows, kv_heads, v_head_dim]
};

ReferenceBackward reference_backward(const BackwardArgs& args);

/// The contents of a host view of any dtype as doubles, packed.
std::vector<double> as_doubles(const RowsView& view);

}  // namespace cadenza
