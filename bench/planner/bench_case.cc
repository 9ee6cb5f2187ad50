#include "bench_case.h"

#include <algorithm>
#include <chrono>
#include <regex>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "core/batch_file.h"
#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/tile.h"

namespace cadenza {
namespace {

constexpr double kGiB = 1.0 / (int64_t{1} << 30);

/// Rows of a file of figures; none where it is missing.
Json rows_of(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return Json::array();
  return parse_json(read_file(path.string()), path.string()).at("rows");
}

KnownFigures figures_of(const std::string& name, const Json& targets, const Json& reference) {
  KnownFigures known;
  for (const Json& row : targets) {
    if (row.at("case") != name) continue;
    known.quick_gib = row.at("quick_gib").get<double>();
    known.thorough_gib = row.at("thorough_gib").get<double>();
    known.lower_bound_gib = row.at("lower_bound_gib").get<double>();
  }
  for (const Json& row : reference) {
    if (row.at("case") != name || row.at("tolerance") != 0.05) continue;
    // It counts no O rows: one returns for each Q row.
    known.reference_gib = 2 * row.at("q_gib").get<double>() + row.at("kv_gib").get<double>();
    known.reference_recv_gib = row.at("max_recv_gib").get<double>();
  }
  return known;
}

}  // namespace

std::vector<BenchCase> bench_cases(const std::vector<std::filesystem::path>& folders,
                                   const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<BenchCase> cases;
  for (const std::filesystem::path& folder : folders) {
    if (!std::filesystem::is_directory(folder)) {
      throw ConfigError(cat("[planner_bench] expected a folder of batches, got ", folder.string(),
                            ", which is not there; give --folder"));
    }
    const Json targets = rows_of(folder / "targets.json");
    const Json reference = rows_of(folder / "reference_planner.json");
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().stem().string();
      if (name.front() != 's' || entry.path().extension() != ".json") continue;
      if (!std::regex_search(name, wanted)) continue;
      cases.push_back({name, entry.path(), figures_of(name, targets, reference)});
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const BenchCase& a, const BenchCase& b) { return a.name < b.name; });
  return cases;
}

BenchResult run_request(const PlanRequest& request, int repeats) {
  using Clock = std::chrono::steady_clock;
  const Strategy& cad = find_strategy("cad");
  std::vector<double> times;
  Plan plan;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    plan = cad.plan(request);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  check_cuts(plan, kTile);
  const VerifiedPlan verified = verify_plan(std::move(plan));
  const Traffic traffic = forward_traffic(verified.plan(), request.shape);
  return {
      .max_over_mean = balance_of(verified.plan(), request.cluster, *request.cost).max_over_mean,
      .gib = static_cast<double>(traffic.total()) * kGiB,
      .recv_gib = static_cast<double>(traffic.max_recv_bytes) * kGiB,
      .plan_ms = times[static_cast<size_t>(repeats / 2)],
      .tasks = verified.plan().tasks.size()};
}

BenchResult run_case(const BenchCase& bench, const CostModel& cost,
                     const PlanningSettings& settings, int repeats) {
  const BatchFile file = read_batch_file(bench.path.string());
  PlanRequest request{.documents = file.documents,
                      .homes = file.servers.value(),
                      .tokens_per_rank = file.tokens_per_server.value(),
                      .cluster = {.servers = file.servers.value(),
                                  .speeds = {},
                                  .servers_per_node = settings.servers_per_node},
                      .cost = &cost,
                      .tolerance = settings.tolerance,
                      .options = settings.options};
  return run_request(request, repeats);
}

}  // namespace cadenza
