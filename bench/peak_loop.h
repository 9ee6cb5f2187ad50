#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace cadenza::bench {

/// Random operands, neither zero nor denormal: a processor's speed may depend on the data. All
/// absolute values lie in [0.5, 1).
struct PeakOperands {
  static constexpr int kFloats = 1024;
  static constexpr int kBFloats = 4096;
  alignas(64) float f32[kFloats];
  alignas(64) uint16_t bf16[kBFloats];
};
const PeakOperands& peak_operands();

/// A loop of nothing but multiply-adds on registers, for one instruction set: what a kernel that
/// never waits for memory would reach.
struct PeakLoop {
  const char* name;
  double flops;  // an iteration
  // Whether this processor, and the system, can run it.
  bool (*supported)();
  // The result depends on all the work, so that none of it can be left out.
  float (*run)(int64_t iterations, const PeakOperands& operands);
};

extern const PeakLoop kPeakPortable;
#if defined(__x86_64__)
extern const PeakLoop kPeakAvx2;
extern const PeakLoop kPeakAvx512;
extern const PeakLoop kPeakAvx512Bf16;
extern const PeakLoop kPeakAmx;
#endif

/// All loops of this build that this processor runs.
std::vector<const PeakLoop*> supported_peak_loops();

/// The loops of the arithmetic that kernels of instruction set `isa` use on rows of `dtype`; where
/// there are several the fastest counts. ConfigError for an instruction set without one.
std::vector<const PeakLoop*> peak_loops_of(const std::string& isa, Dtype dtype);

}  // namespace cadenza::bench
