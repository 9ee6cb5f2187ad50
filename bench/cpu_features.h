#pragma once

namespace cadenza::bench {

/// What the processor and the system let this process run; false on other architectures.
bool has_avx2_fma();
bool has_avx512();  // with the parts that the kernels ask for: F, DQ, VL, BW
bool has_avx512_bf16();
/// Tiles of bf16. Asks the kernel for the use of tile registers, for all threads of the process.
bool has_amx_bf16();

}  // namespace cadenza::bench
