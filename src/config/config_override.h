#pragma once

#include <string>
#include <vector>

#include "config/config_toml.h"

namespace cadenza {

/// The values of one "--set a.b=value": TOML, or what needs no quotes because the key says what it
/// is: a text, one text of a list, a number such as .5. ConfigError when it has no "=".
std::vector<ConfigEntry> parse_override(const std::string& text);

}  // namespace cadenza
