#include "compare/compare_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/cat.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "train/check_run.h"
#include "train/run_folder.h"
#include "train/train_run.h"

namespace cadenza {

std::vector<StrategySteps> compare_run(RankEnvironment& rank, const TrainConfig& config,
                                       const Json& made_by) {
  const bool speaks = rank.group->rank() == 0;
  const Corpus corpus(config.data);
  check_documents_fit(config, corpus, rank.group->size());
  check_ranks_agree(*rank.group, config, corpus);
  BatchStream stream(corpus, stream_options(config, rank.group->size()));
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<StrategySteps> results;
  for (const std::string& strategy : config.compare_strategies) {
    trainers.push_back(
        std::make_unique<Trainer>(*rank.group, *rank.backend, config, strategy, corpus));
    results.push_back({strategy, {}});
  }
  RunFolder folder(*rank.group, config.folder, made_by, config.deadline_seconds);
  if (speaks) {
    log_info(cat("corpus: ", corpus.summary()));
    log_info(cat("model: ", trainers.front()->model().flat_parameters().size(), " parameters; ",
                 rank.group->size(), " ranks x ", rank.threads, " threads; every step runs under ",
                 trainers.size(), " strategies in turn, on the same documents"));
  }
  Progress progress(speaks, config.steps * static_cast<int64_t>(trainers.size()), "step");
  int64_t done = 0;
  StepInput next = read_step(stream, config);
  for (int64_t step = 0; step < config.steps; ++step) {
    const StepInput input = std::move(next);
    if (step + 1 < config.steps) next = read_step(stream, config);
    // Who goes first alternates: what one leaves in caches and allocator serves each alike.
    for (size_t turn = 0; turn < trainers.size(); ++turn) {
      throw_if_interrupted();
      const size_t i = (turn + static_cast<size_t>(step)) % trainers.size();
      trainers[i]->plan_ahead(next.batches);
      const StepReport report = trainers[i]->step(input.batches);
      Json line = metrics_line(report);
      line["strategy"] = results[i].strategy;
      if (config.defer) line["deferral"] = input.deferral;
      folder.write_metrics(line);
      char text[160];
      std::snprintf(text, sizeof(text), "%s step %lld: loss %.4f  %.2f s  attention max/mean %.2f",
                    results[i].strategy.c_str(), static_cast<long long>(step + 1), report.loss,
                    report.seconds, report.attention_max_over_mean());
      progress.update(++done, text);
      results[i].steps.push_back(report);
    }
  }
  progress.finish();
  folder.write_json("compare.json", compare_to_json(results));
  if (speaks) log_info(cat("what made this, every step and every plan's hash: ", folder.path()));
  return results;
}

}  // namespace cadenza
