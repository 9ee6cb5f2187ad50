#include "eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cat.h"
#include "base/check.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "comm/collectives.h"
#include "core/cost/read_cost_model.h"
#include "data/memory_tokens.h"
#include "engine/plan_ahead.h"
#include "model/safetensors.h"
#include "program/schedule.h"
#include "step/pass_runner.h"
#include "train/gradient_reducer.h"
#include "train/layer_kinds.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

/// Consecutive documents up to `capacity` tokens; one that is longer stands alone.
std::vector<DocumentBatch> group_documents(const MemoryTokens& input, int64_t capacity) {
  std::vector<DocumentBatch> batches;
  int64_t room = 0;
  for (size_t i = 0; i < input.documents(); ++i) {
    const int64_t length = input.length(i);
    if (batches.empty() || length > room) {
      batches.emplace_back();
      room = capacity;
    }
    room -= length;
    batches.back().documents.push_back(input.whole(i));
  }
  return batches;
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

using DocumentLosses = std::vector<std::vector<std::optional<float>>>;

/// NumericError naming the first token whose loss is not finite. All ranks hold all losses.
void refuse_not_finite(const MemoryTokens& source, const DocumentBatch& tokens,
                       const DocumentLosses& by_document) {
  for (size_t document = 0; document < by_document.size(); ++document) {
    const auto& losses = by_document[document];
    const auto bad = std::ranges::find_if(
        losses, [](const std::optional<float>& loss) { return loss && !std::isfinite(*loss); });
    if (bad == losses.end()) continue;
    throw NumericError(cat("[eval] the loss of token ", bad - losses.begin(), " of document ",
                           name_of(source, tokens.documents[document]),
                           " is not finite; look at the checkpoint's weights"));
  }
}

/// Puts every rank's row losses back in document order and appends them to the result.
void append_losses(const Batch& batch, const MemoryTokens& source, const DocumentBatch& tokens,
                   const std::vector<std::string>& rank_losses, EvalResult& result) {
  DocumentLosses by_document;
  for (const int64_t length : tokens.lengths())
    by_document.emplace_back(static_cast<size_t>(length));
  for (size_t rank = 0; rank < rank_losses.size(); ++rank) {
    for (const LocalShard& shard : local_shards(batch, static_cast<Rank>(rank))) {
      auto& losses = by_document[static_cast<size_t>(shard.document)];
      for (int64_t i = 0; i < shard.rows.size(); ++i) {
        const auto position = static_cast<size_t>(shard.rows.begin + i);
        if (position + 1 == losses.size()) continue;  // the last token has no target
        float loss;
        std::memcpy(
            &loss,
            rank_losses[rank].data() + (shard.first_row + i) * static_cast<int64_t>(sizeof(float)),
            sizeof(float));
        losses[position] = loss;
      }
    }
  }
  refuse_not_finite(source, tokens, by_document);
  for (const auto& losses : by_document) {
    result.per_token_loss.insert(result.per_token_loss.end(), losses.begin(), losses.end());
  }
}

void write_gradients(TrainableModel& model, const std::string& path) {
  std::vector<FloatTensor> tensors;
  for (const ParameterInfo& parameter : model.parameters()) {
    tensors.push_back(
        {parameter.name, parameter.shape, model.flat_gradients().data() + parameter.offset});
  }
  write_safetensors(path, tensors);
}

}  // namespace

EvalResult evaluate(RankEnvironment& rank, TrainableModel& model, const MemoryTokens& documents,
                    const EvalOptions& options) {
  Group& group = *rank.group;
  const auto deadline = [&] { return Deadline::after_seconds(options.deadline_seconds); };
  const bool training = !options.gradients_path.empty();
  const std::vector<DocumentBatch> batches =
      group_documents(documents, options.tokens_per_rank * group.size());
  EvalResult result;
  for (const DocumentBatch& batch : batches) {
    result.valid_targets += batch.targets(documents);
    result.tokens += batch.tokens();
  }
  const double loss_scale =
      result.valid_targets > 0 ? 1.0 / static_cast<double>(result.valid_targets) : 0.0;
  LaneClock clock;
  AttentionContext context{group, *rank.backend, clock, options.deadline_seconds};
  PassRunner runner(context, model);
  const std::vector<Action> schedule = plain_schedule(model.layers(), training);
  std::ranges::fill(model.flat_gradients(), 0.0f);

  const std::shared_ptr<const CostModel> cost =
      read_cost_model(options.planning.cost_model, attention_spec(model).shape);

  double loss_sum = 0;
  for (const DocumentBatch& batch : batches) {
    throw_if_interrupted();
    const PlanSettings settings{
        .strategy = find_strategy(options.strategy),
        .shape = attention_spec(model).shape,
        .kinds = layer_kinds(model),
        .planning = options.planning,
        .tokens_per_rank = (batch.tokens() + group.size() - 1) / group.size(),
        .deadline_seconds = options.deadline_seconds,
        .cost = cost};
    const std::vector<AgreedBatch> agreed = PlanAhead(group, settings).take({batch.lengths()});
    const AgreedNanoBatch& nano = agreed.front().nano_batches.front();
    const RankTokens tokens =
        read_rank_tokens(documents, batch.documents, nano.batch(), group.rank());
    const std::vector<NanoBatchResult> results =
        runner.run({.nano_batches = {{nano.programs, tokens}},
                    .schedule = schedule,
                    .loss_scale = loss_scale,
                    .training = training});
    const auto rank_losses = all_gather(group, bytes_of(results.front().row_losses), deadline());
    append_losses(nano.batch(), documents, batch, rank_losses, result);
  }
  for (const auto& loss : result.per_token_loss) loss_sum += loss.value_or(0.0f);
  result.loss_mean = loss_sum * loss_scale;
  result.perplexity = std::exp(result.loss_mean);
  if (training) {
    const auto reducer = make_all_reduce(group);
    reducer->reduce(model.flat_gradients(), deadline());
    for (const float value : model.flat_gradients()) {
      if (std::isfinite(value)) continue;
      throw NumericError(
          "[eval] a gradient is not finite; nothing was written; look at the weights");
    }
    if (group.rank() == 0) write_gradients(model, options.gradients_path);
  }
  return result;
}

}  // namespace cadenza
