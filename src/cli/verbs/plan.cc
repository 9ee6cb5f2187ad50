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

namespace cadenza {
namespace {

void check_single(const PlanVerbOptions& options, size_t strategies) {
  if (strategies == 1) return;
  const char* option = !options.out.empty() ? "--out" : options.explain ? "--explain" : nullptr;
  if (option == nullptr) return;
  throw ConfigError(cat("[plan] expected one --strategy with ", option, ", got ", strategies,
                        "; name the one to ", option + 2));
}

int run(const PlanVerbOptions& options) {
  const auto cost = read_cost_model(options.cost_model, options.shape.shape());
  BatchFile file = read_batch_file(options.batch);
  const std::string name = file.name.empty() ? options.batch : file.name;
  const auto strategies = chosen_strategies(options);
  check_single(options, strategies.size());
  const PlanRequest request = plan_request(options, std::move(file), *cost);
  std::vector<Json> reports;
  for (const Strategy* strategy : strategies) {
    const PlanOutcome outcome = plan_and_prove(*strategy, request, strategies.size() > 1);
    reports.push_back(outcome_to_json(name, request, outcome));
    if (!options.out.empty())
      write_file(options.out, plan_to_json(outcome.plan->plan()).dump() + "\n");
    if (options.explain) {
      const std::string text = explain_server(outcome.plan->plan(), request, *options.explain);
      if (options.json) {
        reports.back()["explanation"] = text;
      } else {
        std::cout << text;
      }
    }
  }
  if (!options.json) {
    std::cout << outcomes_to_text(reports, options.servers_per_node > 0);
  } else if (reports.size() == 1) {
    std::cout << reports.front().dump(2) << "\n";
  } else {
    std::cout << Json{{"strategies", reports}}.dump(2) << "\n";
  }
  return static_cast<int>(ExitCode::kOk);
}

VerbCall attach(CLI::App& app) {
  const auto options = std::make_shared<PlanVerbOptions>();
  attach_plan_options(app, *options);
  return [options] { return run(*options); };
}

}  // namespace

Verb plan_verb() {
  return {"plan", "Plans a batch of documents, proves the plan exact, reports balance and bytes",
          "cadenza plan --batch lengths.json --servers 8 --tokens-per-server 131072 --strategy all",
          &attach};
}

}  // namespace cadenza
