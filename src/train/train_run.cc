#include "train/train_run.h"

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

std::string overflow_text(const OverflowCounts& counts) {
  return cat("documents that overflowed a batch: ", counts.carried, " carried to the next, ",
             counts.cut, " cut, ", counts.dropped, " dropped");
}

}  // namespace

BatchStreamOptions stream_options(const TrainConfig& config, int ranks) {
  return {.tokens_per_batch = ranks * config.tokens_per_rank,
          .overflow = config.overflow,
          .seed = config.seed};
}

std::vector<TokenBatch> next_micro_batches(BatchStream& stream, int64_t count) {
  std::vector<TokenBatch> batches;
  for (int64_t i = 0; i < count; ++i) batches.push_back(stream.next());
  return batches;
}

void train_run(RankEnvironment& rank, const TrainConfig& config, const Json& made_by) {
  const bool speaks = rank.group->rank() == 0;
  const Corpus corpus(config.data);
  check_documents_fit(config, corpus, rank.group->size());
  check_ranks_agree(*rank.group, config, corpus);
  BatchStream stream(corpus, stream_options(config, rank.group->size()));
  Trainer trainer(*rank.group, *rank.backend, config, config.strategy);
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
  for (int64_t step = 0; step < config.steps; ++step) {
    throw_if_interrupted();
    const StepReport report = trainer.step(next_micro_batches(stream, config.micro_batches));
    Json line = metrics_line(report);
    line["epoch"] = stream.epoch();
    folder.write_metrics(line);
    progress.update(step + 1, progress_text(report));
    if (speaks && !report.updated && !warned) {
      warned = true;
      log_warning(cat("step ", report.step,
                      " has documents of one token only: nothing to predict, no update"));
    }
  }
  progress.finish();
  const OverflowCounts& overflow = stream.overflow();
  if (speaks && overflow.carried + overflow.cut + overflow.dropped > 0)
    log_info(overflow_text(overflow));
}

}  // namespace cadenza
