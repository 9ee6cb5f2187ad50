// cadenza verify: proves that a plan file computes its batch exactly, or refuses it.
#include <iostream>
#include <memory>
#include <optional>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/verb.h"
#include "core/plan_json.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"

namespace cadenza {
namespace {

struct VerifyVerbOptions {
  std::string plan;
  std::optional<int64_t> tile;
  bool json = false;
};

Json accepted(const VerifyVerbOptions& options) {
  if (options.tile && *options.tile < 1) {
    throw ConfigError(
        cat("[verify] expected --tile >= 1, got ", *options.tile, "; give --tile 128"));
  }
  const Json json = parse_json(read_file(options.plan), options.plan);
  const VerifiedPlan verified = verify_plan(plan_from_json(json, options.plan));
  const Plan& plan = verified.plan();
  if (options.tile) check_cuts(plan, *options.tile);
  const Balance balance =
      balance_of(plan, {.servers = plan.servers, .speeds = {}}, PairsCostModel());
  return {{"ok", true},
          {"error", nullptr},
          {"plan", options.plan},
          {"strategy", plan.strategy},
          {"servers", plan.servers},
          {"documents", plan.batch.documents.size()},
          {"tasks", plan.tasks.size()},
          {"pairs", count_pairs(plan.batch)},
          {"max_over_mean", balance.max_over_mean},
          {"plan_hash", hash_text(verified.hash())},
          {"provenance", provenance_to_json(program_provenance())}};
}

std::string accepted_text(const Json& report) {
  return cat(report["plan"].get<std::string>(), ": exact; ", report["tasks"], " tasks, ",
             report["documents"], " documents, ", report["pairs"], " pairs, max/mean ",
             report["max_over_mean"].get<double>(), "\n");
}

int run_verify(const VerifyVerbOptions& options) {
  try {
    const Json report = accepted(options);
    std::cout << (options.json ? report.dump(2) + "\n" : accepted_text(report));
    return static_cast<int>(ExitCode::kOk);
  } catch (const Error& e) {
    // With --json the answer "no" is a result too; the line on standard error and the exit code
    // stay.
    if (options.json) {
      std::cout << Json{{"ok", false}, {"error", e.what()}, {"plan", options.plan}}.dump(2) << '\n';
    }
    throw;
  }
}

VerbCall attach_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyVerbOptions>();
  app.add_option("plan", options->plan, "A plan file, as cadenza plan --out writes")->required();
  app.add_option(
      "--tile", options->tile,
      "Also refuse cuts that are not on a multiple of this, a home's boundary, a mask piece's "
      "edge or a document's end");
  app.add_flag("--json", options->json, "Print one JSON object");
  return [options] { return run_verify(*options); };
}

}  // namespace

Verb verify_verb() {
  return {"verify", "Proves that a plan file computes its batch exactly, or says where not",
          "cadenza verify plan.json --tile 128", &attach_verify};
}

}  // namespace cadenza
