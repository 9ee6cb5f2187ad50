// planner_bench: `cad` on drawn and recorded batches, beside what others reach there, and the
// growth of its planning time with the number of servers.
#include <CLI/CLI.hpp>
#include <iostream>

#include "base/cat.h"
#include "base/error.h"
#include "bench_case.h"
#include "cli/planning_options.h"
#include "core/cost/read_cost_model.h"
#include "growth.h"
#include "report/table.h"
#include "testing/batch_folders.h"

namespace cadenza {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders = batch_folders();
  std::string files = ".";
  PlanningSettings planning;
  std::vector<int> growth = {8, 64, 512, 4096};
  int repeats = 5;
  bool json = false;
};

Cell ratio(double ours, const std::optional<double>& theirs) {
  if (!theirs) return {};
  return ours / *theirs;
}

Table files_table(const Options& options) {
  Table table({{.key = "case", .title = "case"},
               {.key = "max_over_mean", .title = "max/mean", .decimals = 4},
               {.key = "gib", .title = "bytes", .unit = "GiB", .decimals = 2},
               {.key = "over_quick", .title = "/ quick"},
               {.key = "over_thorough", .title = "/ thorough"},
               {.key = "over_lower_bound", .title = "/ bound"},
               {.key = "over_reference", .title = "/ reference"},
               {.key = "max_recv_gib", .title = "max receive", .unit = "GiB"},
               {.key = "recv_over_reference", .title = "/ reference"},
               {.key = "tasks", .title = "tasks"},
               {.key = "plan_ms", .title = "planned in", .unit = "ms", .decimals = 2}});
  const bool thorough = options.planning.options.effort == Effort::kThorough;
  const auto cost = read_cost_model(options.planning.cost_model, {});
  for (const BenchCase& bench : bench_cases(options.folders, options.files)) {
    std::cerr << "planner_bench: " << bench.name << "\n";
    const BenchResult result =
        run_case(bench, *cost, options.planning, thorough ? 1 : options.repeats);
    const KnownFigures& known = bench.known;
    table.add_row({bench.name, result.max_over_mean, result.gib, ratio(result.gib, known.quick_gib),
                   ratio(result.gib, known.thorough_gib), ratio(result.gib, known.lower_bound_gib),
                   ratio(result.gib, known.reference_gib), result.recv_gib,
                   ratio(result.recv_gib, known.reference_recv_gib),
                   static_cast<int64_t>(result.tasks), result.plan_ms});
  }
  return table;
}

Table growth_table(const Options& options) {
  Table table({{.key = "servers", .title = "servers"},
               {.key = "documents", .title = "documents"},
               {.key = "max_over_mean", .title = "max/mean", .decimals = 4},
               {.key = "plan_ms", .title = "planned in", .unit = "ms", .decimals = 2},
               {.key = "microseconds_per_server", .title = "a server", .unit = "us"}});
  for (const int servers : options.growth) {
    std::cerr << "planner_bench: " << servers << " servers x 128K tokens\n";
    const PlanRequest request = growth_request(servers, 1);
    const BenchResult result = run_request(request, options.repeats);
    table.add_row({static_cast<int64_t>(servers), static_cast<int64_t>(request.documents.size()),
                   result.max_over_mean, result.plan_ms, result.plan_ms * 1e3 / servers});
  }
  return table;
}

void run(const Options& options) {
  const Table files = files_table(options);
  const Table growth = growth_table(options);
  if (options.json) {
    std::cout << Json{{"files", files.to_json()}, {"growth", growth.to_json()}}.dump(2) << "\n";
    return;
  }
  const PlanningSettings& planning = options.planning;
  std::cout << "cad (" << (planning.options.effort == Effort::kThorough ? "thorough" : "quick")
            << ") at tolerance " << planning.tolerance << " in " << planning.cost_model
            << "; bytes of one forward layer, hidden 4096, KV width "
               "1024, bf16\n"
            << files.to_text() << "\n"
            << "growth: long-tailed documents, 128K tokens a server, quick\n"
            << growth.to_text();
}

}  // namespace
}  // namespace cadenza

int main(int argc, char** argv) {
  cadenza::Options options;
  CLI::App app("Plans batches, and shows how planning time grows");
  using cadenza::attach_planning_options;
  app.add_option("--folder", options.folders,
                 "Folders of batches, with targets.json and reference_planner.json if there are "
                 "figures to compare with; not given: tests/data/batches, and recorded batches "
                 "beside the repository");
  app.add_option("--files", options.files, "Only batches whose name matches this expression");
  attach_planning_options(app, options.planning);
  app.add_option("--growth", options.growth, "Numbers of servers, separated by commas")
      ->delimiter(',');
  app.add_option("--repeats", options.repeats, "Times are medians of so many")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "Print one JSON object");
  try {
    app.parse(argc, argv);
    cadenza::run(options);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const cadenza::Error& error) {
    std::cerr << "planner_bench: error: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
