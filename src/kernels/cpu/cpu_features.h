#pragma once

namespace cadenza::cpu {

/// What this processor runs and the operating system lets us use. All false on other architectures.
struct CpuFeatures {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, DQ, VL, BW
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  // tile registers, granted to this process
};

/// Found once. Asks the kernel for the use of tile registers where the processor has them
/// (arch_prctl): it may refuse, in a sandbox or before Linux 5.16.
const CpuFeatures& cpu_features();

}  // namespace cadenza::cpu
