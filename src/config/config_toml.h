#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace cadenza {

/// One value that the user gave.
struct ConfigEntry {
  std::string name;   // with its section: "train.steps"
  Json value;         // null for a date or time, which no key takes
  std::string got;    // the value as an error shows it, on one line
  std::string place;  // "demo.toml:12", "--set train.steps=3"
};

/// The values of a TOML text in the order of its lines; sections become prefixes, an empty section
/// is an empty object. ConfigError with file and line for what is not TOML, a key given twice too.
std::vector<ConfigEntry> parse_toml(const std::string& text, const std::string& file);

/// `text` as the TOML value of `name`; nothing when it is not one.
std::optional<std::vector<ConfigEntry>> parse_toml_value(const std::string& name,
                                                         const std::string& text,
                                                         const std::string& place);

/// `text` for an error: control characters as spaces, cut when long.
std::string one_line(const std::string& text);

}  // namespace cadenza
