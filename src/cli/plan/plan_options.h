#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shape_options.h"
#include "core/batch_file.h"
#include "planner/strategy.h"

namespace cadenza {

/// The command line of `cadenza plan`.
struct PlanVerbOptions {
  std::string batch;
  std::optional<int> servers, homes;
  std::optional<int64_t> tokens_per_server;
  std::vector<double> speeds;
  int servers_per_node = 0;
  std::vector<std::string> strategies = {"cad"};
  double tolerance = 0.02;
  std::string mask;
  bool split_kv = true;
  double far_link_weight = 1;
  std::string placement = "fill", effort = "quick";
  std::string max_recv_bytes, max_extra_kv_bytes, mesh;
  std::optional<int64_t> capacity;
  std::string cost_model = "pairs";
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
