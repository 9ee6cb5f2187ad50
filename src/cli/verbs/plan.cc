// cadenza plan: plans a batch, proves the plan, and reports balance and bytes.
#include <chrono>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/mask_option.h"
#include "cli/shape_options.h"
#include "cli/verb.h"
#include "core/batch_file.h"
#include "core/plan_json.h"
#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/strategy.h"
#include "report/table.h"

namespace cadenza {
namespace {

struct Options {
  std::string batch;
  std::optional<int> servers;
  std::optional<int64_t> tokens_per_server;
  std::string strategy = "cad";
  double tolerance = 0.05;
  std::string mask;
  std::string out;
  bool json = false;
  ShapeOptions shape;
};

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

PlanRequest request_of(const Options& options, BatchFile file, const CostModel& cost) {
  if (!(options.tolerance >= 0)) {
    throw ConfigError(cat("[plan] expected --tolerance >= 0, got ", options.tolerance,
                          "; 0.05 allows 5 % above the mean"));
  }
  if (!options.mask.empty()) {
    for (Document& document : file.documents) document.mask = mask_from_option(options.mask);
  }
  const int servers = given(options.servers, file.servers, "--servers");
  return {.documents = std::move(file.documents),
          .homes_given = false,
          .homes = servers,
          .tokens_per_rank =
              given(options.tokens_per_server, file.tokens_per_server, "--tokens-per-server"),
          .cluster = {.servers = servers, .speeds = {}},
          .shape = options.shape.shape(),
          .cost = &cost,
          .tolerance = options.tolerance};
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

Json shape_json(const ModelShape& shape) {
  return {{"hidden", shape.heads * shape.head_dim},
          {"kv_width", shape.kv_heads * shape.head_dim},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"head_dim", shape.head_dim},
          {"dtype", dtype_name(shape.dtype)}};
}

/// Everything that is reported, as the JSON object that --json prints.
Json report_of(const std::string& batch, const PlanRequest& request, const VerifiedPlan& verified,
               double plan_ms) {
  const Plan& plan = verified.plan();
  const Balance balance = balance_of(plan, request.cluster, *request.cost);
  const Traffic traffic = forward_traffic(plan, request.shape);
  int64_t tokens = 0;
  for (const Document& document : plan.batch.documents) tokens += document.length;
  return {{"batch", batch},
          {"strategy", plan.strategy},
          {"servers", plan.servers},
          {"documents", plan.batch.documents.size()},
          {"tokens", tokens},
          {"pairs", count_pairs(plan.batch)},
          {"tasks", plan.tasks.size()},
          {"tolerance", request.tolerance},
          {"max_over_mean", balance.max_over_mean},
          {"lower_bound_over_mean", balance.lower_bound_over_mean},
          {"q_bytes", traffic.q_bytes},
          {"kv_bytes", traffic.kv_bytes},
          {"o_bytes", traffic.o_bytes},
          {"total_bytes", traffic.total()},
          {"max_recv_bytes", traffic.max_recv_bytes},
          {"plan_ms", plan_ms},
          {"plan_hash", hash_text(verified.hash())},
          {"cost_model", request.cost->name()},
          {"model", shape_json(request.shape)},
          {"provenance", provenance_to_json(program_provenance())}};
}

std::string report_text(const Json& report) {
  constexpr double kGiB = 1.0 / (int64_t{1} << 30);
  Table table({{.key = "strategy", .title = "strategy"},
               {.key = "servers", .title = "servers"},
               {.key = "tasks", .title = "tasks"},
               {.key = "max_over_mean", .title = "max/mean", .decimals = 4},
               {.key = "lower_bound_over_mean", .title = "bound", .decimals = 4},
               {.key = "q_bytes", .title = "Q", .unit = "GiB", .scale = kGiB},
               {.key = "kv_bytes", .title = "KV", .unit = "GiB", .scale = kGiB},
               {.key = "o_bytes", .title = "O", .unit = "GiB", .scale = kGiB},
               {.key = "max_recv_bytes", .title = "max receive", .unit = "GiB", .scale = kGiB},
               {.key = "plan_ms", .title = "planned in", .unit = "ms", .decimals = 2}});
  table.add_row({report["strategy"].get<std::string>(), report["servers"].get<int64_t>(),
                 report["tasks"].get<int64_t>(), report["max_over_mean"].get<double>(),
                 report["lower_bound_over_mean"].get<double>(), report["q_bytes"].get<int64_t>(),
                 report["kv_bytes"].get<int64_t>(), report["o_bytes"].get<int64_t>(),
                 report["max_recv_bytes"].get<int64_t>(), report["plan_ms"].get<double>()});
  return cat(report["batch"].get<std::string>(), ": ", report["documents"], " documents, ",
             report["tokens"], " tokens, ", report["pairs"],
             " pairs; bytes of one forward layer; plan ", report["plan_hash"].get<std::string>(),
             " verified\n", table.to_text());
}

int run(const Options& options) {
  const PairsCostModel cost;
  BatchFile file = read_batch_file(options.batch);
  const std::string name = file.name.empty() ? options.batch : file.name;
  const Strategy& strategy = find_strategy(options.strategy);
  const PlanRequest request = request_of(options, std::move(file), cost);
  const auto start = std::chrono::steady_clock::now();
  Plan plan = strategy.plan(request);
  const double plan_ms = milliseconds_since(start);
  const VerifiedPlan verified = verify_plan(std::move(plan));
  const Json report = report_of(name, request, verified, plan_ms);
  if (!options.out.empty()) write_file(options.out, plan_to_json(verified.plan()).dump() + "\n");
  std::cout << (options.json ? report.dump(2) + "\n" : report_text(report));
  return static_cast<int>(ExitCode::kOk);
}

VerbCall attach(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("--batch", options->batch,
                 "Document lengths: {\"servers\", \"tokens_per_server\", \"documents\": [...]}, or "
                 "a JSON array")
      ->required();
  app.add_option("--servers", options->servers, "Ranks; default: the file's");
  app.add_option("--tokens-per-server", options->tokens_per_server,
                 "Room of each rank; default: the file's");
  std::string strategies;
  for (const Strategy& s : all_strategies()) strategies += cat("\n  ", s.name, ": ", s.summary);
  app.add_option("--strategy", options->strategy, "One of:" + strategies)->capture_default_str();
  app.add_option("--tolerance", options->tolerance, "No server above (1 + tolerance) x mean")
      ->capture_default_str();
  app.add_option("--mask", options->mask,
                 "causal, window:W[:S], chunked:C, prefix:P or full; default: the file's, causal");
  options->shape.attach(app);
  app.add_option("--out", options->out, "Write the plan to this file (JSON)");
  app.add_flag("--json", options->json, "Print one JSON object instead of a table");
  return [options] { return run(*options); };
}

}  // namespace

Verb plan_verb() {
  return {
      "plan", "Plans a batch of documents, proves the plan exact, reports balance and bytes",
      "cadenza plan --batch lengths.json --servers 8 --tokens-per-server 131072 --out plan.json",
      &attach};
}

}  // namespace cadenza
