#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/planning_options.h"

namespace cadenza {

/// Figures of others on one recorded batch; GiB of one forward layer. Absent where the files beside
/// the batches do not say.
struct KnownFigures {
  std::optional<double> quick_gib, thorough_gib, lower_bound_gib;  // of a prototype; proved
  std::optional<double> reference_gib, reference_recv_gib;         // of the reference planner at
                                                                   // tolerance 0.05
};

struct BenchCase {
  std::string name;
  std::filesystem::path path;
  KnownFigures known;
};

/// The batches s*.json of the folders by name, those that match `pattern` (a regular expression),
/// with what targets.json and reference_planner.json beside them say. ConfigError if a folder is
/// missing.
std::vector<BenchCase> bench_cases(const std::vector<std::filesystem::path>& folders,
                                   const std::string& pattern);

/// What ours reaches; planning time is the median of repeats.
struct BenchResult {
  double max_over_mean = 0;
  double gib = 0, recv_gib = 0;
  double plan_ms = 0;
  size_t tasks = 0;
};

/// Plans with `cad` as the settings say, by the cost model, homes by sequential fill; verifies the
/// plan and that its cuts lie on the tile. Any failure is thrown.
BenchResult run_case(const BenchCase& bench, const CostModel& cost,
                     const PlanningSettings& settings, int repeats);

/// The same for a request of any origin.
BenchResult run_request(const PlanRequest& request, int repeats);

}  // namespace cadenza
