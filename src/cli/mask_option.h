#pragma once

#include <string>

#include "core/mask.h"

namespace cadenza {

/// Reads causal, window:W, window:W:S, chunked:C, prefix:P or full. ConfigError for anything else.
Mask mask_from_option(const std::string& text);

}  // namespace cadenza
