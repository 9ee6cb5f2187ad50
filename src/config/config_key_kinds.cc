#include "config/config_key_kinds.h"

#include <cmath>

namespace cadenza {

std::string IntegerRange::words() const {
  if (high == std::numeric_limits<int64_t>::max()) return cat("an integer >= ", low);
  return cat("an integer from ", low, " to ", high);
}

bool NumberRange::contains(double value) const {
  if (!std::isfinite(value)) return false;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string NumberRange::words() const {
  const std::string lower = cat("a number ", low_open ? "> " : ">= ", low);
  return std::isinf(high) ? lower : cat(lower, " and ", high_open ? "< " : "<= ", high);
}

std::optional<std::vector<std::string>> texts_of(const Json& value) {
  const Json list = value.is_string() ? Json::array({value}) : value;
  if (!list.is_array() || list.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& item : list) {
    if (!item.is_string() || item.get<std::string>().empty()) return std::nullopt;
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += '"' + words[i] + '"';
  }
  return text;
}

}  // namespace cadenza
