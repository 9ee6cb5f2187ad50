#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"

namespace cadenza::bench {

/// Our kernels on `threads` threads; `isa` empty: the instruction set that they choose themselves.
/// ConfigError for one that is not there.
std::unique_ptr<Backend> backend_of(int threads, const std::string& isa);

/// Its name without the device: "cpu/avx2" is "avx2".
std::string isa_of(const Backend& backend);

}  // namespace cadenza::bench
