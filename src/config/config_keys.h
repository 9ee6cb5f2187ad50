#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/train_config.h"

namespace cadenza {

/// One key of the configuration: everything that reads, checks, shows or lists keys goes through
/// these rows.
struct ConfigKey {
  /// What "--set" takes a value for that is not TOML.
  enum class Shape { kScalar, kText, kList };

  std::string name = {};  // with its section: "train.steps"
  Shape shape = Shape::kScalar;
  std::string expected = {};  // completes "expected ...": "an integer >= 1"
  std::string remedy = {};    // completes "...; ": what to write
  std::string help = {};      // one line
  /// False: the value is not as expected, nothing is set.
  std::function<bool(TrainConfig&, const Json&)> set = {};
  /// Null: not set, and has no default.
  std::function<Json(TrainConfig&)> get = {};
};

/// All keys, section by section. The list is frozen by a test.
const std::vector<ConfigKey>& config_keys();

/// Null when there is none.
const ConfigKey* find_config_key(const std::string& name);

/// What to do about a key that does not exist: its section, or the nearest name.
std::string unknown_key_remedy(const std::string& name);

}  // namespace cadenza
