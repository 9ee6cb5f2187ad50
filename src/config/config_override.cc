#include "config/config_override.h"

#include <charconv>

#include "base/cat.h"
#include "base/error.h"
#include "config/config_keys.h"

namespace cadenza {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Run folders store texts as JSON, which is UTF-8.
void check_utf8(const std::string& text) try {
  static_cast<void>(Json(text).dump());
} catch (const Json::exception&) {
  throw ConfigError("[config] --set: expected UTF-8, got other bytes; rename the file or folder");
}

Json plain_value(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

}  // namespace

std::vector<ConfigEntry> parse_override(const std::string& text) {
  check_utf8(text);
  const size_t equals = text.find('=');
  const std::string place = cat("--set ", one_line(text));
  if (equals == std::string::npos) {
    throw ConfigError(cat("[config] ", place,
                          ": expected section.key=value, got no '='; write --set train.steps=10"));
  }
  const std::string name = trimmed(text.substr(0, equals)),
                    value = trimmed(text.substr(equals + 1));
  const ConfigKey* key = find_config_key(name);
  const ConfigKey::Shape shape = key == nullptr ? ConfigKey::Shape::kScalar : key->shape;
  auto entries = parse_toml_value(name, value, place);
  const bool text_given = entries && entries->size() == 1 && entries->front().value.is_string();
  switch (shape) {
    case ConfigKey::Shape::kScalar:
      break;
    case ConfigKey::Shape::kText:  // "2024" is a folder too
      if (!text_given) return {{name, value, one_line(value), place}};
      break;
    case ConfigKey::Shape::kList:
      // What begins like a list and is none would pass for one text: null, which no key takes.
      if (!entries) {
        const Json plain = value.starts_with('[') ? Json() : Json(value);
        return {{name, plain, one_line(value), place}};
      }
      break;
  }
  if (entries) return *entries;
  return {{name, plain_value(value), value.empty() ? "nothing" : one_line(value), place}};
}

}  // namespace cadenza
