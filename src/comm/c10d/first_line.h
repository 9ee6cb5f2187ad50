#pragma once

#include <string>

namespace cadenza {

/// libtorch's messages carry a stack trace after their first line; ours are one line.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace cadenza
