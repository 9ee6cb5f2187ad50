#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/units.h"
#include "bench/case.h"
#include "bench/variant_run.h"

namespace cadenza::bench {

/// The command line.
struct BenchOptions {
  std::regex cases{""};
  std::vector<Dtype> dtypes;
  Phases phases;
  CaseSize size = CaseSize::kFull;
  int threads = 2;
  std::string isa;      // empty: the one that the kernels choose
  int64_t rounds = 0;   // 0: as many as fit
  double budget = 300;  // seconds in all
  std::string lengths;
  bool list = false;
  std::optional<std::string> json;  // a file; empty: standard output
};

/// ConfigError for what cannot be. Where the program is to end at once (--help), prints and gives
/// nothing.
std::optional<BenchOptions> parse_options(int argc, char** argv);

}  // namespace cadenza::bench
