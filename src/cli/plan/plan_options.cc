#include "cli/plan/plan_options.h"

#include <cstdio>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "cli/byte_size.h"
#include "cli/mask_option.h"

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

void check_numbers(const PlanVerbOptions& options) {
  if (!(options.tolerance >= 0)) {
    throw ConfigError(cat("[plan] expected --tolerance >= 0, got ", options.tolerance,
                          "; 0.05 allows 5 % above the mean"));
  }
  if (options.servers_per_node < 0) {
    throw ConfigError(cat("[plan] expected --servers-per-node >= 0, got ", options.servers_per_node,
                          "; 0 puts all servers in one node"));
  }
  if (!(options.far_link_weight > 0)) {
    throw ConfigError(cat("[plan] expected --far-link-weight > 0, got ", options.far_link_weight,
                          "; 8 counts a byte between nodes as eight inside one"));
  }
  if (options.layers < 1) {
    throw ConfigError(
        cat("[plan] expected --layers >= 1, got ", options.layers, "; give the model's layers"));
  }
  if (options.capacity && *options.capacity < 1) {
    throw ConfigError(
        cat("[plan] expected --capacity >= 1, got ", *options.capacity, "; give tokens per rank"));
  }
}

MeshShape mesh_shape(const std::string& text) {
  MeshShape shape;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &shape.q_chunks, &shape.kv_chunks, &rest) == 2 &&
      shape.q_chunks >= 1 && shape.kv_chunks >= 1)
    return shape;
  throw ConfigError(
      cat("[--mesh] expected AxB, A chunks of queries and B of keys per server, got '", text,
          "'; with 8 servers give 2x4"));
}

PlanOptions plan_options(const PlanVerbOptions& options) {
  PlanOptions plan{.split_kv = options.split_kv,
                   .far_link_weight = options.far_link_weight,
                   .placement = options.placement == "free" ? Placement::kFree : Placement::kFill,
                   .effort = options.effort == "thorough" ? Effort::kThorough : Effort::kQuick,
                   .capacity = options.capacity};
  if (!options.max_recv_bytes.empty())
    plan.max_recv_bytes = byte_size_of_option("--max-recv-bytes", options.max_recv_bytes);
  if (!options.max_extra_kv_bytes.empty())
    plan.max_extra_kv_bytes =
        byte_size_of_option("--max-extra-kv-bytes", options.max_extra_kv_bytes);
  if (!options.mesh.empty()) plan.mesh = mesh_shape(options.mesh);
  return plan;
}

std::vector<double> speeds_of(const PlanVerbOptions& options, int servers) {
  if (options.speeds.size() == 1)
    return std::vector<double>(static_cast<size_t>(servers), options.speeds.front());
  return options.speeds;  // the planner names a wrong number of them
}

}  // namespace

PlanRequest plan_request(const PlanVerbOptions& options, BatchFile file, const CostModel& cost) {
  check_numbers(options);
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
                      .servers_per_node = options.servers_per_node},
          .shape = options.shape.shape(),
          .cost = &cost,
          .tolerance = options.tolerance,
          .options = plan_options(options)};
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
  app.add_option("--servers-per-node", options.servers_per_node,
                 "Consecutive servers that share a node; 0: all do")
      ->capture_default_str();
  std::string strategies;
  for (const Strategy& s : all_strategies()) strategies += cat("\n  ", s.name, ": ", s.summary);
  app.add_option("--strategy", options.strategies,
                 "\"all\", or some separated by commas, of:" + strategies)
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--tolerance", options.tolerance, "No server above (1 + tolerance) x mean")
      ->capture_default_str();
  app.add_option("--cost-model", options.cost_model,
                 "What predicts the time of tasks: pairs, or a profile made by 'cadenza profile'")
      ->capture_default_str();
  app.add_option("--mask", options.mask,
                 "causal, window:W[:S], chunked:C, prefix:P or full; default: the file's, causal");
  app.add_flag("--split-kv,!--no-split-kv", options.split_kv,
               "cad: a task may read a part of the keys that its queries see; default yes");
  app.add_option("--far-link-weight", options.far_link_weight,
                 "cad: a byte between nodes counts as this many inside one")
      ->capture_default_str();
  app.add_option("--placement", options.placement,
                 "cad: fill (tokens in order) or free (homes chosen too)")
      ->check(CLI::IsMember({"fill", "free"}))
      ->capture_default_str();
  app.add_option("--effort", options.effort, "cad: quick (milliseconds) or thorough (seconds)")
      ->check(CLI::IsMember({"quick", "thorough"}))
      ->capture_default_str();
  app.add_option("--max-recv-bytes", options.max_recv_bytes,
                 "cad: most Q + K + V that a server may receive in one layer's forward: 1.5GiB");
  app.add_option("--max-extra-kv-bytes", options.max_extra_kv_bytes, "cad: most K + V among them");
  app.add_option("--capacity", options.capacity,
                 "Tokens that a rank may hold if a strategy places documents; default: "
                 "tokens per server");
  app.add_option(
      "--mesh", options.mesh,
      "mesh: AxB chunks of queries and keys per server; default: what moves fewest bytes");
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
