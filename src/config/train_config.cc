#include "config/train_config.h"

#include <algorithm>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "config/config_check.h"
#include "config/config_keys.h"
#include "config/config_override.h"
#include "config/config_toml.h"

namespace cadenza {
namespace {

std::vector<ConfigEntry> read_entries(const std::string& path,
                                      const std::vector<std::string>& overrides) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const DataError& error) {
    throw ConfigError(cat("[config] ", error.what(), "; give an existing TOML file"));
  }
  std::vector<ConfigEntry> entries = parse_toml(text, path);
  for (const std::string& text_of_one : overrides) {
    for (ConfigEntry& entry : parse_override(text_of_one)) entries.push_back(std::move(entry));
  }
  return entries;
}

bool is_section(const std::string& name) {
  const auto& keys = config_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return key.name.starts_with(name + "."); });
}

void apply(const ConfigEntry& entry, TrainConfig& config) {
  const ConfigKey* key = find_config_key(entry.name);
  if (key == nullptr) {
    const bool empty_section =
        entry.value.is_object() && entry.value.empty() && is_section(entry.name);
    if (empty_section) return;
    throw ConfigError(cat("[config] ", entry.place, ": expected a known key, got ",
                          one_line(entry.name), "; ", unknown_key_remedy(entry.name)));
  }
  if (!key->set(config, entry.value)) {
    throw ConfigError(cat("[config] ", entry.place, ": ", key->name, ": expected ", key->expected,
                          ", got ", entry.got, "; ", key->remedy));
  }
}

// Two defaults give way to what was given, so that a short run or a low rate needs one key, not
// two.
void lower_defaults(const ConfigPlaces& places, TrainConfig& config) {
  // A run cut short on the command line is a trial of the file's: its warm-up ends with it.
  const auto overridden = [&](const char* key) { return places.of(key).starts_with("--set"); };
  if (!places.has("train.warmup_steps") ||
      (overridden("train.steps") && !overridden("train.warmup_steps")))
    config.warmup_steps = std::min(config.warmup_steps, config.steps);
  if (!places.has("train.min_learning_rate")) {
    config.min_learning_rate = std::min(config.min_learning_rate, config.learning_rate);
  }
}

Json::json_pointer pointer_of(const std::string& name) {
  std::string path = "/" + name;
  std::replace(path.begin(), path.end(), '.', '/');
  return Json::json_pointer(path);
}

}  // namespace

TrainConfig read_train_config(const std::string& path, const std::vector<std::string>& overrides) {
  TrainConfig config;
  ConfigPlaces places{.file = path, .given = {}};
  for (const ConfigEntry& entry : read_entries(path, overrides)) {
    apply(entry, config);
    places.given[entry.name] = entry.place;
  }
  lower_defaults(places, config);
  check_train_config(config, places);
  return config;
}

Json train_config_to_json(const TrainConfig& config) {
  TrainConfig copy = config;
  Json json = Json::object();
  for (const ConfigKey& key : config_keys()) {
    const Json value = key.get(copy);
    if (!value.is_null()) json[pointer_of(key.name)] = value;
  }
  return json;
}

std::string train_config_help() {
  TrainConfig defaults;
  std::string text;
  for (const ConfigKey& key : config_keys()) {
    const Json value = key.get(defaults);
    text += cat(key.name, "  ", key.expected, "; default ", value.is_null() ? "none" : value.dump(),
                "\n    ", key.help, "\n");
  }
  return text;
}

}  // namespace cadenza
