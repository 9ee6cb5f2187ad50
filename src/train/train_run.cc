#include "train/train_run.h"

#include <algorithm>
#include <cstdio>

#include "base/cat.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "train/check_run.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace cadenza {
namespace {

std::string progress_text(const StepReport& report) {
  char text[160];
  std::snprintf(text, sizeof(text), "loss %.4f  %.1f tokens/s  attention max/mean %.2f",
                report.loss, report.tokens_per_second(), report.attention_max_over_mean());
  return text;
}

std::string deferral_text(const Json& deferral) {
  return cat("deferred documents: ", deferral["released_documents"], ", by ",
             deferral["mean_delay_steps"], " steps on average, ", deferral["longest_delay_steps"],
             " at most");
}

std::string overflow_text(const OverflowCounts& counts) {
  return cat("documents that overflowed a batch: ", counts.carried, " carried to the next, ",
             counts.cut, " cut, ", counts.dropped, " dropped");
}

}  // namespace

BatchStreamOptions stream_options(const TrainConfig& config, int ranks) {
  return {.tokens_per_batch = ranks * config.tokens_per_rank,
          .overflow = config.overflow,
          .seed = config.seed,
          .defer_for_ranks = config.defer ? ranks : 0};
}

Json deferral_to_json(const DeferralCounts& counts, int64_t micro_batches) {
  const auto steps = [&](int64_t batches) {
    return static_cast<double>(batches) / static_cast<double>(micro_batches);
  };
  const auto released = static_cast<double>(std::max<int64_t>(counts.released, 1));
  return {{"released_documents", counts.released},
          {"waiting_documents", counts.waiting},
          {"mean_delay_steps", steps(counts.delay_sum) / released},
          {"longest_delay_steps", steps(counts.longest_delay)}};
}

StepInput read_step(BatchStream& stream, const TrainConfig& config) {
  StepInput input;
  for (int64_t i = 0; i < config.micro_batches; ++i) input.batches.push_back(stream.next());
  input.epoch = stream.epoch();
  if (config.defer) input.deferral = deferral_to_json(stream.deferral(), config.micro_batches);
  return input;
}

void train_run(RankEnvironment& rank, const TrainConfig& config, const Json& made_by) {
  const bool speaks = rank.group->rank() == 0;
  const Corpus corpus(config.data);
  check_documents_fit(config, corpus, rank.group->size());
  check_ranks_agree(*rank.group, config, corpus);
  BatchStream stream(corpus, stream_options(config, rank.group->size()));
  Trainer trainer(*rank.group, *rank.backend, config, config.strategy, corpus);
  RunFolder folder(*rank.group, config.folder, made_by, config.deadline_seconds);
  if (speaks) {
    log_info(cat("corpus: ", corpus.summary()));
    log_info(cat("model: ", trainer.model().flat_parameters().size(), " parameters; ",
                 rank.group->size(), " ranks x ", rank.threads, " threads over ",
                 rank.group->transport(), "; strategy ", config.strategy, "; run folder ",
                 folder.path()));
  }
  bool warned = false;
  Progress progress(speaks, config.steps, "step");
  StepInput next = read_step(stream, config);
  for (int64_t step = 0; step < config.steps; ++step) {
    throw_if_interrupted();
    const StepInput input = std::move(next);
    if (step + 1 < config.steps) {
      next = read_step(stream, config);
      trainer.plan_ahead(next.batches);
    }
    const StepReport report = trainer.step(input.batches);
    Json line = metrics_line(report);
    line["epoch"] = input.epoch;
    if (config.defer) line["deferral"] = input.deferral;
    folder.write_metrics(line);
    progress.update(step + 1, progress_text(report));
    if (speaks && !report.updated && !warned) {
      warned = true;
      log_warning(cat("step ", report.step,
                      " has documents of one token only: nothing to predict, no update"));
    }
  }
  progress.finish();
  if (speaks && config.defer)
    log_info(deferral_text(deferral_to_json(stream.deferral(), config.micro_batches)));
  const OverflowCounts& overflow = stream.overflow();
  if (speaks && overflow.carried + overflow.cut + overflow.dropped > 0)
    log_info(overflow_text(overflow));
}

}  // namespace cadenza
