#pragma once

#include <cstdint>
#include <string>

namespace cadenza {

/// "1.5GiB", "512MiB", "64KiB" or plain bytes. ConfigError naming the option for anything else.
int64_t byte_size_of_option(const std::string& option, const std::string& text);

}  // namespace cadenza
