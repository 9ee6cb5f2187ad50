#pragma once

#include "kernels/attention.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// Attention on the host with the given inner kernels by at most `threads` workers. Rows of Q, K,
/// V, O and dO are fp32 or bf16, all others fp32. The same bits for any number of workers.
void forward(const ForwardArgs& args, const BlockKernels& kernels, int threads,
             const ParallelFor& parallel);
void backward(const BackwardArgs& args, const BlockKernels& kernels, int threads,
              const ParallelFor& parallel);

}  // namespace cadenza::cpu
