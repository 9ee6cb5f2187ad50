#pragma once

#include <map>
#include <string>

#include "config/train_config.h"

namespace cadenza {

/// Where each key that was given stands, for errors.
struct ConfigPlaces {
  std::string file;
  std::map<std::string, std::string> given;  // name -> "demo.toml:12"

  bool has(const std::string& name) const { return given.contains(name); }
  std::string of(const std::string& name) const { return has(name) ? given.at(name) : file; }
};

/// Each value is in its range; this refuses values that cannot work together, or that nothing can
/// do yet. ConfigError.
void check_train_config(const TrainConfig& config, const ConfigPlaces& places);

}  // namespace cadenza
