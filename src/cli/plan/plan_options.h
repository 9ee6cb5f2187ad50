#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shape_options.h"
#include "core/batch_file.h"
#include "planner/planning_options.h"

namespace cadenza {

/// The command line of `cadenza plan`.
struct PlanVerbOptions {
  std::string batch;
  std::optional<int> servers, homes;
  std::optional<int64_t> tokens_per_server;
  std::vector<double> speeds;
  std::vector<std::string> strategies = {"cad"};
  std::string mask;
  PlanningSettings planning;
  std::optional<int> explain;
  std::string schedule;  // "plain", "ping-pong"; empty: not asked for
  int layers = 2;
  std::string out, picture;  // files to write; empty: none
  bool json = false;
  ShapeOptions shape;
};

/// Adds the options to the verb; `options` must outlive the parsing.
void attach_plan_options(CLI::App& app, PlanVerbOptions& options);

/// What a strategy is asked. ConfigError naming the option that makes no sense.
PlanRequest plan_request(const PlanVerbOptions& options, BatchFile file, const CostModel& cost);

/// The strategies to plan with, in the table's order for "all". ConfigError for an unknown name.
std::vector<const Strategy*> chosen_strategies(const PlanVerbOptions& options);

}  // namespace cadenza
