#include "base/byte_size.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace cadenza {

std::optional<int64_t> byte_size_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  constexpr std::array<std::pair<const char*, double>, 6> kUnits{
      {{"", 1}, {"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
  for (const auto& [name, bytes] : kUnits) {
    if (end != text.c_str() && unit == name && number >= 0 && number * bytes < 0x1p62) {
      return std::llround(number * bytes);
    }
  }
  return std::nullopt;
}

}  // namespace cadenza
