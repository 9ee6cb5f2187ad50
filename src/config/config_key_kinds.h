#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "config/config_keys.h"

namespace cadenza {

// One function a kind of value makes a row of the table. `access` maps TrainConfig& to a reference
// to the field.

struct IntegerRange {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();

  bool contains(int64_t value) const { return value >= low && value <= high; }
  std::string words() const;
};

/// Bounds that are part of the range unless said to be open. Never holds NaN or an infinity.
struct NumberRange {
  double low = 0;
  bool low_open = false;
  double high = std::numeric_limits<double>::infinity();
  bool high_open = false;

  bool contains(double value) const;
  std::string words() const;
};

template <typename T>
Json stored(const T& value) {
  return value;
}
template <typename T>
Json stored(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <typename Access>
ConfigKey integer_key(std::string name, IntegerRange range, std::string help, Access access) {
  ConfigKey key{.name = std::move(name), .expected = range.words(), .help = std::move(help)};
  key.remedy = "give a whole number without point, exponent or unit";
  key.set = [range, access](TrainConfig& config, const Json& value) {
    if (!value.is_number_integer() || !range.contains(value.get<int64_t>())) return false;
    using Field = std::remove_reference_t<decltype(access(config))>;
    if constexpr (std::is_integral_v<Field>) {
      access(config) = static_cast<Field>(value.get<int64_t>());
    } else {
      access(config) = value.get<int64_t>();
    }
    return true;
  };
  key.get = [access](TrainConfig& config) { return stored(access(config)); };
  return key;
}

template <typename Access>
ConfigKey number_key(std::string name, NumberRange range, std::string help, Access access) {
  ConfigKey key{.name = std::move(name), .expected = range.words(), .help = std::move(help)};
  key.remedy = "give a plain number such as 2, 0.05 or 3e-4";
  key.set = [range, access](TrainConfig& config, const Json& value) {
    if (!value.is_number() || !range.contains(value.get<double>())) return false;
    access(config) = value.get<double>();
    return true;
  };
  key.get = [access](TrainConfig& config) { return stored(access(config)); };
  return key;
}

template <typename Access>
ConfigKey boolean_key(std::string name, std::string help, Access access) {
  ConfigKey key{.name = std::move(name), .expected = "true or false", .help = std::move(help)};
  key.remedy = "give one of them, without quotes";
  key.set = [access](TrainConfig& config, const Json& value) {
    if (!value.is_boolean()) return false;
    access(config) = value.get<bool>();
    return true;
  };
  key.get = [access](TrainConfig& config) { return stored(access(config)); };
  return key;
}

template <typename Access>
ConfigKey text_key(std::string name, bool may_be_empty, std::string help, Access access) {
  ConfigKey key{.name = std::move(name), .shape = ConfigKey::Shape::kText, .help = std::move(help)};
  key.expected = may_be_empty ? "a text" : "a text that is not empty";
  key.remedy = "give it in quotes";
  key.set = [may_be_empty, access](TrainConfig& config, const Json& value) {
    if (!value.is_string() || (!may_be_empty && value.get<std::string>().empty())) return false;
    access(config) = value.get<std::string>();
    return true;
  };
  key.get = [access](TrainConfig& config) { return stored(access(config)); };
  return key;
}

/// The texts of `value`, one text standing for a list of one; nothing when it holds anything else,
/// "" or no text.
std::optional<std::vector<std::string>> texts_of(const Json& value);

template <typename Access>
ConfigKey texts_key(std::string name, std::string help, Access access) {
  ConfigKey key{.name = std::move(name), .shape = ConfigKey::Shape::kList, .help = std::move(help)};
  key.expected = "a list of texts, not empty";
  key.remedy = "give it like [\"a\", \"b\"]";
  key.set = [access](TrainConfig& config, const Json& value) {
    auto texts = texts_of(value);
    if (texts) access(config) = std::move(*texts);
    return texts.has_value();
  };
  key.get = [access](TrainConfig& config) { return stored(access(config)); };
  return key;
}

/// "\"a\", \"b\" or \"c\"".
std::string alternatives(const std::vector<std::string>& words);

/// A text that stands for one of the field's values.
template <typename Value, typename Access>
ConfigKey choice_key(std::string name, std::vector<std::pair<std::string, Value>> choices,
                     std::string help, Access access) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  ConfigKey key{.name = std::move(name), .shape = ConfigKey::Shape::kText, .help = std::move(help)};
  key.expected = alternatives(words);
  key.remedy = words.size() == 1 ? "there is no other so far" : "give one of these";
  key.set = [choices, access](TrainConfig& config, const Json& value) {
    for (const auto& [word, meaning] : choices) {
      if (value != word) continue;
      access(config) = meaning;
      return true;
    }
    return false;
  };
  key.get = [choices, access](TrainConfig& config) {
    for (const auto& [word, meaning] : choices) {
      if (access(config) == meaning) return Json(word);
    }
    return Json();
  };
  return key;
}

}  // namespace cadenza
