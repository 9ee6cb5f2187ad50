#include "kernels/cpu/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace cadenza::cpu {
namespace {

#if defined(__x86_64__)
/// Linux, Documentation/arch/x86/xstate.rst: the 8 KB of tile data are granted on request, to a
/// process and the threads it starts.
bool tiles_are_granted() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

CpuFeatures find_features() {
  CpuFeatures found;
  __builtin_cpu_init();  // also looks at whether the operating system saves the registers
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512bw");
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Intel SDM, CPUID leaf 7: AVX512_BF16 is bit 5 of EAX in subleaf 1; AMX-BF16 and AMX-TILE are
  // bits 22 and 24 of EDX in subleaf 0.
  found.avx512_bf16 = found.avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
  const bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);
  found.amx_bf16 = found.avx512_bf16 && tiles && tiles_are_granted();
  return found;
}
#else
CpuFeatures find_features() { return {}; }
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = find_features();
  return features;
}

}  // namespace cadenza::cpu
