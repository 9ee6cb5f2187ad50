#pragma once

#include <sstream>
#include <string>

namespace cadenza {

/// Concatenates values as an ostream prints them. Here because std::format is missing from g++ 12,
/// and fmt must not meet libtorch's own copy in one translation unit.
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace cadenza
