#include "cli/verbs/torch/config_options.h"

#include "base/file.h"
#include "data/corpus.h"
#include "train/check_run.h"

namespace cadenza {

void ConfigOptions::attach(CLI::App& app) {
  app.footer(app.get_footer() + "\n\nKeys of CONFIG:\n" + train_config_help());
  app.add_option("config", path, "TOML file; examples/demo.toml explains every key")->required();
  app.add_option("--set", overrides, "Override a key: --set train.steps=20 (may be repeated)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  nproc_option = app.add_option(
      "--nproc", nproc,
      "Start this many ranks on this machine; under torchrun, mpirun or srun leave it out");
}

TrainConfig ConfigOptions::read() const {
  if (nproc_option->count() > 0) check_nproc(nproc);
  return read_train_config(path, overrides);
}

RankedVerb ConfigOptions::ranked(const TrainConfig& config) const {
  return {.nproc = nproc,
          .options = {.threads = config.threads, .deadline_seconds = config.deadline_seconds},
          .check_inputs =
              [config, ranks = nproc] {
                check_documents_fit(config, Corpus(config.data), ranks);
                if (config.checkpoint.empty()) return;
                const std::string file = config.checkpoint + "/config.json";
                model_config_from_json(parse_json(read_file(file), file), file);
              },
          .body = {}};
}

}  // namespace cadenza
