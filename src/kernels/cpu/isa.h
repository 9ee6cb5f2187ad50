#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// An instruction set, by the kernels that run fp32 rows and those that run bf16 rows. Where it has
/// no bf16 arithmetic, or a slow one, bf16 rows are widened as they are packed, and both are the
/// same.
struct Isa {
  const char* name;  // as in CADENZA_ISA
  const BlockKernels* fp32;
  const BlockKernels* bf16;
};

/// Names of the instruction sets that this build has kernels for and this processor runs, slowest
/// first.
std::vector<std::string> supported_isas();

/// The kernels that run: those that the environment variable CADENZA_ISA names, else the fastest
/// that this processor supports. ConfigError listing what there is for a name that is unknown or
/// not supported here.
const Isa& chosen_isa();
const Isa& isa_named(const std::string& name);

/// As make_cpu_backend, with the kernels of one instruction set whatever the environment says.
std::unique_ptr<Backend> make_backend(int threads, const std::string& isa);

}  // namespace cadenza::cpu
