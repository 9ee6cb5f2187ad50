// cadenza train: trains a model as a configuration says.
#include <memory>

#include "cli/verb.h"
#include "cli/verbs/torch/config_options.h"
#include "train/train_run.h"

namespace cadenza {
namespace {

int run_train(const ConfigOptions& options) {
  const TrainConfig config = options.read();
  RankedVerb verb = options.ranked(config);
  verb.body = [&](RankEnvironment& rank) {
    train_run(rank, config, made_by(rank, train_config_to_json(config)));
  };
  return run_ranked(verb);
}

VerbCall attach_train(CLI::App& app) {
  const auto options = std::make_shared<ConfigOptions>();
  options->attach(app);
  return [options] { return run_train(*options); };
}

}  // namespace

Verb train_verb() {
  return {"train", "Trains a model on text, with attention balanced over the ranks",
          "cadenza train examples/demo.toml --nproc 2 --set data.paths=docs", &attach_train};
}

}  // namespace cadenza
