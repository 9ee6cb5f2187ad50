#include "cli/plan/plan_options.h"

#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "cli/mask_option.h"
#include "cli/planning_options.h"

namespace cadenza {
namespace {

/// A command-line value, or the file's; `least` 1.
template <typename T>
T given(const std::optional<T>& option, const std::optional<T>& in_file, const char* name) {
  const std::optional<T> value = option ? option : in_file;
  if (!value) {
    throw ConfigError(cat("[plan] expected ", name,
                          ", which the batch file does not say, got none; give ", name, " N"));
  }
  if (*value < 1)
    throw ConfigError(cat("[plan] expected ", name, " >= 1, got ", *value, "; give ", name, " N"));
  return *value;
}

void check_layers(const PlanVerbOptions& options) {
  if (options.layers >= 1) return;
  throw ConfigError(
      cat("[plan] expected --layers >= 1, got ", options.layers, "; give the model's layers"));
}

std::vector<double> speeds_of(const PlanVerbOptions& options, int servers) {
  if (options.speeds.size() == 1)
    return std::vector<double>(static_cast<size_t>(servers), options.speeds.front());
  return options.speeds;  // the planner names a wrong number of them
}

}  // namespace

PlanRequest plan_request(const PlanVerbOptions& options, BatchFile file, const CostModel& cost) {
  check_layers(options);
  if (!options.mask.empty()) {
    for (Document& document : file.documents) document.mask = mask_from_option(options.mask);
  }
  const int servers = given(options.servers, file.servers, "--servers");
  return {.documents = std::move(file.documents),
          .homes_given = false,
          .homes = options.homes.value_or(servers),
          .tokens_per_rank =
              given(options.tokens_per_server, file.tokens_per_server, "--tokens-per-server"),
          .cluster = {.servers = servers,
                      .speeds = speeds_of(options, servers),
                      .servers_per_node = options.planning.servers_per_node},
          .shape = options.shape.shape(),
          .cost = &cost,
          .tolerance = options.planning.tolerance,
          .options = options.planning.options};
}

std::vector<const Strategy*> chosen_strategies(const PlanVerbOptions& options) {
  std::vector<const Strategy*> chosen;
  if (options.strategies == std::vector<std::string>{"all"}) {
    for (const Strategy& strategy : all_strategies()) chosen.push_back(&strategy);
    return chosen;
  }
  for (const std::string& name : options.strategies) chosen.push_back(&find_strategy(name));
  return chosen;
}

void attach_plan_options(CLI::App& app, PlanVerbOptions& options) {
  app.add_option("--batch", options.batch,
                 "Document lengths: {\"servers\", \"tokens_per_server\", \"documents\": [...]}, or "
                 "a JSON array")
      ->required();
  app.add_option("--servers", options.servers, "Ranks; default: the file's");
  app.add_option("--homes", options.homes,
                 "Ranks that hold tokens, the first ones; the others only serve. Default: all");
  app.add_option("--tokens-per-server", options.tokens_per_server,
                 "Room of each rank; default: the file's");
  app.add_option("--speeds", options.speeds,
                 "Relative speed of each server, separated by commas; 0: holds tokens and computes "
                 "none (cad). Default: all alike")
      ->delimiter(',');
  std::string strategies;
  for (const Strategy& s : all_strategies()) strategies += cat("\n  ", s.name, ": ", s.summary);
  app.add_option("--strategy", options.strategies,
                 "\"all\", or some separated by commas, of:" + strategies)
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--mask", options.mask,
                 "causal, window:W[:S], chunked:C, prefix:P or full; default: the file's, causal");
  attach_planning_options(app, options.planning);
  app.add_option("--explain", options.explain, "Say in words why this rank got its work");
  app.add_option("--schedule", options.schedule,
                 "Print the schedule of a training step: plain, or ping-pong, which plans two "
                 "nano-batches (--out P.json writes P.nano0.json and P.nano1.json)")
      ->expected(0, 1)
      ->default_str("ping-pong")
      ->check(CLI::IsMember({"plain", "ping-pong"}));
  app.add_option("--layers", options.layers, "Layers of the printed schedule")
      ->capture_default_str();
  options.shape.attach(app);
  app.add_option("--out", options.out, "Write the plan to this file (JSON); for one strategy");
  app.add_option("--picture", options.picture,
                 "Write an SVG picture to this file: a bar of attention work for each server, a "
                 "panel for each strategy");
  app.add_flag("--json", options.json,
               "Print one JSON object instead of a table: {\"plans\": [one object for each]}");
}

}  // namespace cadenza
