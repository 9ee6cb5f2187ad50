// cadenza plan: plans a batch with one strategy or several, proves the plans, and reports balance,
// bytes and time.
#include <iostream>
#include <memory>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/plan/explain.h"
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_outcome.h"
#include "cli/verb.h"
#include "core/cost/read_cost_model.h"
#include "core/plan_json.h"
#include "planner/nano_batches.h"
#include "program/schedule.h"

namespace cadenza {
namespace {

void check_single(const PlanVerbOptions& options, size_t strategies) {
  if (strategies == 1) return;
  const char* option = !options.out.empty() ? "--out" : options.explain ? "--explain" : nullptr;
  if (option == nullptr) return;
  throw ConfigError(cat("[plan] expected one --strategy with ", option, ", got ", strategies,
                        "; name the one to ", option + 2));
}

/// "p.json" of nano-batch 1: "p.nano1.json".
std::string out_path(const std::string& out, int nano_batch) {
  const std::string ending = ".json";
  const bool named = out.ends_with(ending);
  return cat(named ? out.substr(0, out.size() - ending.size()) : out, ".nano", nano_batch,
             named ? ending : "");
}

/// Plans one request (a micro-batch or a nano-batch of it), writes the plan where it shall, and
/// returns the report.
Json report_of(const PlanVerbOptions& options, const std::string& batch, const Strategy& strategy,
               const PlanRequest& request, bool one_of_many, const std::string& out) {
  const PlanOutcome outcome = plan_and_prove(strategy, request, one_of_many);
  Json report = outcome_to_json(batch, request, outcome);
  if (!out.empty()) write_file(out, plan_to_json(outcome.plan->plan()).dump() + "\n");
  if (options.explain)
    report["explanation"] = explain_server(outcome.plan->plan(), request, *options.explain);
  return report;
}

std::vector<Json> reports_of(const PlanVerbOptions& options, const std::string& batch,
                             const Strategy& strategy, const PlanRequest& request,
                             bool one_of_many) {
  if (options.schedule != "ping-pong")
    return {report_of(options, batch, strategy, request, one_of_many, options.out)};
  std::vector<Json> reports;
  for (const NanoBatchRequest& nano : split_nano_batches(strategy, request)) {
    const int index = static_cast<int>(reports.size());
    const std::string out = options.out.empty() ? "" : out_path(options.out, index);
    reports.push_back(report_of(options, batch, strategy, nano.request, one_of_many, out));
    reports.back()["nano_batch"] = index;
  }
  return reports;
}

std::vector<std::string> actions_of(const PlanVerbOptions& options) {
  const auto kind = options.schedule == "plain" ? ScheduleKind::kPlain : ScheduleKind::kPingPong;
  std::vector<std::string> lines;
  for (const Action& action : make_schedule(kind, options.layers, /*training=*/true))
    lines.push_back(to_string(action));
  return lines;
}

void print_json(const PlanVerbOptions& options, const std::vector<Json>& reports) {
  Json json{{"plans", reports}};
  if (!options.schedule.empty()) {
    json["schedule"] = options.schedule;
    json["actions"] = actions_of(options);
  }
  std::cout << json.dump(2) << "\n";
}

void print_text(const PlanVerbOptions& options, const std::vector<Json>& reports) {
  for (const Json& report : reports) {
    if (report.contains("explanation")) std::cout << report["explanation"].get<std::string>();
  }
  std::cout << outcomes_to_text(reports, options.planning.servers_per_node > 0);
  if (options.schedule.empty()) return;
  std::cout << "schedule " << options.schedule << ", " << options.layers << " layers:\n";
  for (const std::string& action : actions_of(options)) std::cout << "  " << action << "\n";
}

int run_plan(const PlanVerbOptions& options) {
  const auto cost = read_cost_model(options.planning.cost_model, options.shape.shape());
  BatchFile file = read_batch_file(options.batch);
  const std::string name = file.name.empty() ? options.batch : file.name;
  const auto strategies = chosen_strategies(options);
  check_single(options, strategies.size());
  const PlanRequest request = plan_request(options, std::move(file), *cost);
  std::vector<Json> reports;
  for (const Strategy* strategy : strategies) {
    for (Json& report : reports_of(options, name, *strategy, request, strategies.size() > 1))
      reports.push_back(std::move(report));
  }
  if (!options.picture.empty()) write_file(options.picture, outcomes_to_picture(reports));
  if (options.json) {
    print_json(options, reports);
  } else {
    print_text(options, reports);
  }
  return static_cast<int>(ExitCode::kOk);
}

VerbCall attach_plan(CLI::App& app) {
  const auto options = std::make_shared<PlanVerbOptions>();
  attach_plan_options(app, *options);
  return [options] { return run_plan(*options); };
}

}  // namespace

Verb plan_verb() {
  return {"plan", "Plans a batch of documents, proves the plan exact, reports balance and bytes",
          "cadenza plan --batch lengths.json --servers 8 --tokens-per-server 131072 --strategy all",
          &attach_plan};
}

}  // namespace cadenza
