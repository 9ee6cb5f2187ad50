#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/block_kernels.h"

namespace cadenza::cpu {

/// Names of the instruction sets that this build has kernels for and this processor runs, slowest
/// first.
std::vector<std::string> supported_isas();

/// The kernels that run: those that the environment variable CADENZA_ISA names, else the fastest
/// that this processor supports. ConfigError listing what there is for a name that is unknown or
/// not supported here.
const BlockKernels& chosen_kernels();
const BlockKernels& kernels_of_isa(const std::string& isa);

/// As make_cpu_backend, with the kernels of one instruction set whatever the environment says.
std::unique_ptr<Backend> make_backend(int threads, const std::string& isa);

}  // namespace cadenza::cpu
