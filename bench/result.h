#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace cadenza::bench {

/// One row of the output. What was not measured is absent; with `error` nothing was.
struct Result {
  std::string name, dtype, phase, isa;
  int threads = 1;
  int64_t rounds = 0;
  std::optional<double> gflops;       // useful operations / median time
  std::optional<double> peak_gflops;  // median of the register-only loop in the same rounds
  std::string peak_loop;
  std::optional<double> matmul_gflops;  // libtorch's, median in the same rounds
  std::optional<double> pytorch_gflops;
  std::optional<double> pytorch_ratio;          // PyTorch's median time / our median time
  std::optional<double> ratio_low, ratio_high;  // least and greatest of single rounds
  std::optional<double> pytorch_distance;       // of O, or of dQ, relative, in the 2-norm
  std::optional<double> ns_per_token;           // ours
  std::string ratio_to;                         // the variant that this one is compared with
  std::optional<double> throughput_ratio;       // our GFLOP/s here / there
  std::string pytorch_form, note, error;
};

/// For people, and the array of objects for programs.
std::string results_text(const std::vector<Result>& results);
Json results_json(const std::vector<Result>& results);

}  // namespace cadenza::bench
