#include "kernels/cpu/isa.h"

#include <cstdlib>

#include "base/cat.h"
#include "base/error.h"
#include "kernels/cpu/block_tables.h"

namespace cadenza::cpu {
namespace {

/// Slowest first.
std::vector<Isa> find_supported() {
  std::vector<Isa> found{{"portable", &kPortableKernels, &kPortableKernels}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) found.push_back({"avx2", &kAvx2Kernels, &kAvx2Kernels});
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (avx512) found.push_back({"avx512", &kAvx512Kernels, &kAvx512Kernels});
#endif
  return found;
}

const std::vector<Isa>& supported() {
  static const std::vector<Isa> isas = find_supported();
  return isas;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : supported()) names.emplace_back(isa.name);
  return names;
}

const Isa& isa_named(const std::string& name) {
  for (const Isa& isa : supported()) {
    if (name == isa.name) return isa;
  }
  throw ConfigError(cat("[kernels/cpu] expected CADENZA_ISA to be one of ",
                        listed(supported_isas()), " on this processor, got '", name,
                        "'; unset it to take the fastest"));
}

const Isa& chosen_isa() {
  const char* forced = std::getenv("CADENZA_ISA");
  return forced && *forced ? isa_named(forced) : supported().back();
}

}  // namespace cadenza::cpu
