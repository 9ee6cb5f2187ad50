#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "cli/verbs/torch/ranked_verb.h"
#include "config/train_config.h"

namespace cadenza {

/// What train and compare have in common: CONFIG, --set, --nproc.
struct ConfigOptions {
  std::string path;
  std::vector<std::string> overrides;
  int nproc = 0;
  CLI::Option* nproc_option = nullptr;

  void attach(CLI::App& app);
  /// The resolved configuration; ConfigError naming the place for anything that cannot work.
  TrainConfig read() const;
  /// The launch of `body` on the ranks asked for. Documents are looked for before ranks start.
  RankedVerb ranked(const TrainConfig& config) const;
};

}  // namespace cadenza
