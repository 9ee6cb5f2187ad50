#include "bench/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace cadenza::bench {

#if defined(__x86_64__)
namespace {

constexpr unsigned kCpuidAmxBf16 = 1u << 22, kCpuidAmxTile = 1u << 24;  // leaf 7, edx
constexpr unsigned kCpuidOsxsave = 1u << 27;                            // leaf 1, ecx
constexpr uint32_t kTileState = 3u << 17;  // XTILECFG and XTILEDATA in XCR0
constexpr long kArchReqXcompPerm = 0x1023;
constexpr long kXfeatureXtiledata = 18;

bool cpuid_says_amx_bf16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kCpuidOsxsave) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kCpuidAmxBf16) != 0 && (edx & kCpuidAmxTile) != 0;
}

/// Whether the system saves tile registers at all. Only after cpuid said OSXSAVE.
bool system_saves_tiles() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState;
}

/// Linux gives the large state only to processes that ask (Documentation/arch/x86/xstate.rst).
bool tiles_permitted() {
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

}  // namespace

bool has_avx2_fma() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
  return has_avx2_fma() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw");
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

bool has_amx_bf16() {
  static const bool has = cpuid_says_amx_bf16() && system_saves_tiles() && tiles_permitted();
  return has;
}
#else
bool has_avx2_fma() { return false; }
bool has_avx512() { return false; }
bool has_avx512_bf16() { return false; }
bool has_amx_bf16() { return false; }
#endif

}  // namespace cadenza::bench
