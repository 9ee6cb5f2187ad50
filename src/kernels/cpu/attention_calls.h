#pragma once

#include "kernels/attention.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// Keys of one block: K and V of a block (and in the backward P and dS of a tile) stay in the
/// first-level cache or near it.
inline int64_t keys_of_block(const AttentionShape& shape) {
  return shape.head_dim <= 128 && shape.v_head_dim <= 128 ? 64 : 32;
}

/// Attention on the host with the given inner kernels, fp32, by at most `threads` workers. The same
/// bits for any number of them.
void forward(const ForwardArgs& args, const BlockKernels& kernels, int threads,
             const ParallelFor& parallel);
void backward(const BackwardArgs& args, const BlockKernels& kernels, int threads,
              const ParallelFor& parallel);

}  // namespace cadenza::cpu
