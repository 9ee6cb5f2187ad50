#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// An instruction set, by the kernels that run fp32 rows and those that run bf16 rows. Where it has
/// no bf16 arithmetic bf16 rows are widened as they are packed, and both are the same.
struct Isa {
  const char* name;  // as in CADENZA_ISA
  const BlockKernels* fp32;
  const BlockKernels* bf16;
};

/// Those that this build has kernels for and this processor runs, each wider than the one before.
const std::vector<Isa>& all_supported();
std::vector<std::string> supported_isas();
/// The bf16 kernels of processors that this one may not be, with the instruction in plain C++: for
/// tests, on any processor. Never chosen.
std::vector<std::string> emulated_isas();

/// That of this name, emulated ones included. ConfigError listing what there is for a name that is
/// unknown or not supported here.
const Isa& isa_named(const std::string& name);
/// The one that runs: that which the environment variable CADENZA_ISA names, else fastest_isa().
const Isa& chosen_isa();

/// The widest for fp32. Among those that differ in bf16 alone, measured: bf16 dot products are
/// twice as fast as fp32 ones on some processors and slower on others. Measured once a process, in
/// a few milliseconds, and only where there is a choice.
const Isa& fastest_isa();

/// As make_cpu_backend, with the kernels of one instruction set whatever the environment says.
std::unique_ptr<Backend> make_backend(int threads, const std::string& isa);

}  // namespace cadenza::cpu
