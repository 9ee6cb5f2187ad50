// cadenza compare: the same batches under several strategies, one table.
#include <iostream>
#include <memory>

#include "cli/verb.h"
#include "cli/verbs/torch/config_options.h"
#include "compare/compare_run.h"

namespace cadenza {
namespace {

struct CompareVerbOptions {
  ConfigOptions config;
  bool json = false;
};

int run_compare(const CompareVerbOptions& options) {
  const TrainConfig config = options.config.read();
  RankedVerb verb = options.config.ranked(config);
  verb.body = [&](RankEnvironment& rank) {
    const Json origin = made_by(rank, train_config_to_json(config));
    const auto results = compare_run(rank, config, origin);
    if (rank.group->rank() != 0) return;
    if (options.json) {
      Json report = compare_to_json(results);
      report["ranks"] = rank.group->size();
      report["machine"] = origin["provenance"];
      report["threads_per_rank"] = rank.threads;
      report["config"] = origin["config"];
      std::cout << report.dump(2) << std::endl;
    } else {
      std::cout << compare_to_text(results) << std::flush;
    }
  };
  return run_ranked(verb);
}

VerbCall attach_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareVerbOptions>();
  options->config.attach(app);
  app.add_flag("--json", options->json, "Print one JSON object instead of a table");
  return [options] { return run_compare(*options); };
}

}  // namespace

Verb compare_verb() {
  return {
      "compare", "Trains the same batches under several strategies and compares them",
      "cadenza compare examples/demo.toml --nproc 2 --set compare.strategies='[\"home\", \"cad\"]'",
      &attach_compare};
}

}  // namespace cadenza
