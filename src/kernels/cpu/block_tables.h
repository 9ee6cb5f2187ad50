#pragma once

#include "kernels/cpu/block_kernels.h"

/// The tables of all files blocked_*.cc.
namespace cadenza::cpu {

extern const BlockKernels kPortableKernels;
extern const BlockKernels kEmulatedBf16Kernels;
extern const BlockKernels kEmulatedAmxKernels;
#if defined(__x86_64__)
extern const BlockKernels kAvx2Kernels;
extern const BlockKernels kAvx512Kernels;
extern const BlockKernels kAvx512Bf16Kernels;
extern const BlockKernels kAmxKernels;
#endif

}  // namespace cadenza::cpu
