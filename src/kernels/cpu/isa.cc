#include "kernels/cpu/isa.h"

#include <cstdlib>

#include "base/cat.h"
#include "base/error.h"
#include "kernels/cpu/block_tables.h"
#include "kernels/cpu/cpu_features.h"

namespace cadenza::cpu {
namespace {

std::vector<Isa> find_supported() {
  std::vector<Isa> found{{"portable", &kPortableKernels, &kPortableKernels}};
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  if (cpu.avx2) found.push_back({"avx2", &kAvx2Kernels, &kAvx2Kernels});
  if (cpu.avx512) found.push_back({"avx512", &kAvx512Kernels, &kAvx512Kernels});
  if (cpu.avx512_bf16) found.push_back({"avx512_bf16", &kAvx512Kernels, &kAvx512Bf16Kernels});
  if (cpu.amx_bf16) found.push_back({"amx", &kAvx512Kernels, &kAmxKernels});
#endif
  return found;
}

const std::vector<Isa>& all_emulated() {
  static const std::vector<Isa> isas{{"emulated_bf16", &kPortableKernels, &kEmulatedBf16Kernels},
                                     {"emulated_amx", &kPortableKernels, &kEmulatedAmxKernels}};
  return isas;
}

std::vector<std::string> names(const std::vector<Isa>& isas) {
  std::vector<std::string> found;
  for (const Isa& isa : isas) found.emplace_back(isa.name);
  return found;
}

std::string listed(const std::vector<std::string>& isas) {
  std::string text;
  for (const std::string& name : isas) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

const std::vector<Isa>& all_supported() {
  static const std::vector<Isa> isas = find_supported();
  return isas;
}

std::vector<std::string> supported_isas() { return names(all_supported()); }
std::vector<std::string> emulated_isas() { return names(all_emulated()); }

const Isa& isa_named(const std::string& name) {
  for (const auto* isas : {&all_supported(), &all_emulated()}) {
    for (const Isa& isa : *isas) {
      if (name == isa.name) return isa;
    }
  }
  throw ConfigError(cat("[kernels/cpu] expected CADENZA_ISA to be one of ",
                        listed(supported_isas()), " on this processor, got '", name,
                        "'; unset it to take the fastest"));
}

const Isa& chosen_isa() {
  const char* forced = std::getenv("CADENZA_ISA");
  return forced && *forced ? isa_named(forced) : fastest_isa();
}

}  // namespace cadenza::cpu
