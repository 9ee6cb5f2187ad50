#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cadenza {

/// "1.5GiB", "512MiB", "64KiB" or plain bytes; nothing for any other text.
std::optional<int64_t> byte_size_in(const std::string& text);

}  // namespace cadenza
