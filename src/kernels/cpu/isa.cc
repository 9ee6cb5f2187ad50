#include "kernels/cpu/isa.h"

#include <cstdlib>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza::cpu {
namespace {

/// Slowest first.
std::vector<const BlockKernels*> supported() {
  std::vector<const BlockKernels*> all{&kPortableKernels};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) all.push_back(&kAvx2Kernels);
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    all.push_back(&kAvx512Kernels);
  }
#endif
  return all;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const BlockKernels* kernels : supported()) names.emplace_back(kernels->name);
  return names;
}

const BlockKernels& kernels_of_isa(const std::string& isa) {
  for (const BlockKernels* kernels : supported()) {
    if (isa == kernels->name) return *kernels;
  }
  throw ConfigError(cat("[kernels/cpu] expected CADENZA_ISA to be one of ",
                        listed(supported_isas()), " on this processor, got '", isa,
                        "'; unset it to take the fastest"));
}

const BlockKernels& chosen_kernels() {
  const char* forced = std::getenv("CADENZA_ISA");
  return forced && *forced ? kernels_of_isa(forced) : *supported().back();
}

}  // namespace cadenza::cpu
