#include "bench/peak_loop.h"

#include <algorithm>

#include "base/cat.h"
#include "base/error.h"
#include "base/rng.h"

namespace cadenza::bench {
namespace {

std::vector<const PeakLoop*> all_loops() {
  return {
    &kPeakPortable,
#if defined(__x86_64__)
        &kPeakAvx2, &kPeakAvx512, &kPeakAvx512Bf16, &kPeakAmx
#endif
  };
}

/// Sign and fraction are random, the exponent that of [0.5, 1).
PeakOperands random_operands() {
  PeakOperands operands;
  Rng rng(1);
  for (float& x : operands.f32) {
    const float magnitude = 0.5f + 0.5f * static_cast<float>(rng() >> 40) * 0x1p-24f;
    x = rng() % 2 == 0 ? magnitude : -magnitude;
  }
  for (uint16_t& x : operands.bf16) {
    x = static_cast<uint16_t>(0x3F00u | (rng() & 0x7Fu) | (rng() % 2 == 0 ? 0x8000u : 0u));
  }
  return operands;
}

/// An instruction set of the kernels, and what it multiplies with. Rows in bf16 are widened to fp32
/// where `bf16` names no loop of its own.
struct IsaLoops {
  const char* isa;
  const PeakLoop* fp32;
  const PeakLoop* bf16;
};

const std::vector<IsaLoops>& isa_table() {
  static const std::vector<IsaLoops> table = {
    {"portable", &kPeakPortable, nullptr},
#if defined(__x86_64__)
    {"avx2", &kPeakAvx2, nullptr},
    {"avx512", &kPeakAvx512, nullptr},
    {"avx512_bf16", &kPeakAvx512, &kPeakAvx512Bf16},
    {"amx", &kPeakAvx512, &kPeakAmx},
#endif
  };
  return table;
}

}  // namespace

const PeakOperands& peak_operands() {
  static const PeakOperands operands = random_operands();
  return operands;
}

std::vector<const PeakLoop*> supported_peak_loops() {
  std::vector<const PeakLoop*> loops = all_loops();
  std::erase_if(loops, [](const PeakLoop* loop) { return !loop->supported(); });
  return loops;
}

std::vector<const PeakLoop*> peak_loops_of(const std::string& isa, Dtype dtype) {
  for (const IsaLoops& row : isa_table()) {
    if (isa != row.isa) continue;
    std::vector<const PeakLoop*> loops{row.fp32};
    if (dtype == Dtype::kBFloat16 && row.bf16 != nullptr) loops.push_back(row.bf16);
    std::erase_if(loops, [](const PeakLoop* loop) { return !loop->supported(); });
    if (!loops.empty()) return loops;
  }
  throw ConfigError(cat("[bench] expected a peak loop for instruction set '", isa,
                        "', got none that runs here; add bench/peak_", isa,
                        ".cc and a row to bench/peak_loop.cc"));
}

}  // namespace cadenza::bench
