#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/cat.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "comm/collectives.h"
#include "core/cost/read_cost_model.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

std::unique_ptr<LlamaModel> build_model(const TrainConfig& config) {
  const LlamaOptions options{.dtype = config.dtype, .recompute = config.recompute};
  if (config.checkpoint.empty()) return make_llama(config.model, options, config.seed);
  auto model = load_llama(config.checkpoint, options);
  const bool special_tokens = config.data.begin_token || config.data.end_token;
  const int64_t needed = special_tokens ? ByteVocabulary::kSize : ByteVocabulary::kBeginOfDocument;
  if (model->config().vocab_size < needed) {
    throw ConfigError(cat("[train] text is read as ", needed,
                          " tokens (bytes and special tokens), but the vocabulary of ",
                          config.checkpoint, " is ", model->config().vocab_size,
                          "; expected a checkpoint with a larger one"));
  }
  return model;
}

ModelShape shape_of(const LlamaModel& model, const TrainConfig& config) {
  return {.heads = model.heads(),
          .kv_heads = model.kv_heads(),
          .head_dim = model.head_dim(),
          .dtype = model.dtype(),
          .grad_dtype = config.gradient_exchange_dtype};
}

}  // namespace

double StepReport::attention_max_over_mean() const {
  double sum = 0, largest = 0;
  for (const RankTimes& times : rank_times) {
    sum += times.lanes[Lane::kAttention];
    largest = std::max(largest, times.lanes[Lane::kAttention]);
  }
  return sum > 0 ? largest * static_cast<double>(rank_times.size()) / sum : 1.0;
}

int64_t StepReport::sent_bytes() const {
  int64_t sum = 0;
  for (const RankTimes& times : rank_times) sum += times.sent_bytes;
  return sum;
}

Trainer::Trainer(Group& group, Backend& backend, const TrainConfig& config,
                 const std::string& strategy)
    : group_(group),
      config_(config),
      strategy_name_(strategy),
      static_bytes_(MemoryCounter::current_bytes()),
      model_(build_model(config)),
      optimizer_(make_adamw(*model_, config.adamw)),
      reducer_(make_all_reduce(group)),
      context_{group, backend, clock_, config.deadline_seconds},
      runner_(context_, *model_,
              {.gradient_dtype = config.gradient_exchange_dtype, .inputs = config.kv_reuse}),
      plan_settings_{.strategy = find_strategy(strategy),
                     .shape = shape_of(*model_, config),
                     .tolerance = config.tolerance,
                     .tokens_per_rank = config.tokens_per_rank,
                     .capacity = config.capacity,
                     .deadline_seconds = config.deadline_seconds,
                     .cost = read_cost_model(config.cost_model, shape_of(*model_, config)),
                     .schedule = config.schedule,
                     .servers_per_node = config.servers_per_node},
      ahead_(plan_settings_, group.size()),
      schedule_(make_schedule(config.schedule, model_->layers(), /*training=*/true)),
      learning_rate_{.peak = config.learning_rate,
                     .minimum = config.min_learning_rate,
                     .warmup_steps = config.warmup_steps,
                     .steps = config.steps} {
  // Equal seeds give equal weights on equal machines; different processors may round differently.
  const std::span<float> weights = model_->flat_parameters();
  const std::string_view bytes(reinterpret_cast<const char*>(weights.data()), weights.size_bytes());
  const std::string from_root =
      broadcast(group, 0, group.rank() == 0 ? std::string(bytes) : std::string(), deadline());
  std::copy(from_root.begin(), from_root.end(), reinterpret_cast<char*>(weights.data()));
  static_bytes_ = MemoryCounter::current_bytes() - static_bytes_;
}

StepReport Trainer::step(const std::vector<TokenBatch>& micro_batches) {
  StepReport report{.step = steps_done_ + 1};
  for (const TokenBatch& batch : micro_batches) {
    report.tokens += batch.tokens();
    report.targets += batch.targets();
    report.documents += static_cast<int64_t>(batch.documents.size());
  }
  barrier(group_, deadline());
  const int64_t other_bytes = MemoryCounter::current_bytes() - static_bytes_;
  MemoryCounter::reset_peak();
  clock_.restart();
  context_.sent_bytes = 0;
  RankStatus status;
  const double loss_scale = report.targets > 0 ? 1.0 / static_cast<double>(report.targets) : 0.0;
  std::ranges::fill(model_->flat_gradients(), 0.0f);
  std::vector<std::optional<MadePlans>> plans = plans_of(micro_batches, report);
  for (size_t i = 0; i < micro_batches.size(); ++i)
    run_micro_batch(micro_batches[i], std::move(plans[i]), loss_scale, status, report);
  if (status.trouble.empty()) status.trouble = describe_bad_gradient();
  status.peak_memory_bytes = MemoryCounter::peak_bytes() - other_bytes;

  double loss_sum = 0;
  for (const RankStatus& theirs : share_status(status)) {
    loss_sum += theirs.loss_sum;
    report.rank_predicted_attention.push_back(theirs.predicted_attention);
    report.rank_peak_memory_bytes.push_back(theirs.peak_memory_bytes);
  }
  report.loss = loss_sum * loss_scale;
  if (report.targets > 0) update(report);
  const RankTimes times{clock_.times(), context_.sent_bytes};
  report.seconds = times.lanes.total();
  report.rank_times = exchange_times(group_, times, deadline());
  ++steps_done_;
  return report;
}

/// All ranks pass only if all have finished their passes, and nothing is wrong on any.
std::vector<RankStatus> Trainer::share_status(const RankStatus& status) {
  const LaneClock::Scope waiting(clock_, Lane::kImbalanceWait);
  std::vector<RankStatus> all = exchange_status(group_, status, deadline());
  stop_if_not_finite(all);
  return all;
}

void Trainer::plan_ahead(const std::vector<TokenBatch>& micro_batches) {
  if (group_.rank() == 0) next_ = micro_batches;
}

std::vector<std::optional<MadePlans>> Trainer::plans_of(
    const std::vector<TokenBatch>& micro_batches, StepReport& report) {
  std::vector<std::optional<MadePlans>> plans(micro_batches.size());
  if (group_.rank() != 0) return plans;
  const LaneClock::Scope planning(clock_, Lane::kPlan);
  {
    const Stopwatch watch(report.plan_wait_seconds);
    std::vector<MadePlans> made = ahead_.take(micro_batches);
    std::move(made.begin(), made.end(), plans.begin());
  }
  if (!next_.empty()) ahead_.begin(next_);
  next_.clear();
  return plans;
}

void Trainer::run_micro_batch(const TokenBatch& batch, std::optional<MadePlans> made,
                              double loss_scale, RankStatus& status, StepReport& report) {
  const PlannedBatch planned = [&] {
    const LaneClock::Scope planning(clock_, Lane::kPlan);
    return plan_batch(group_, batch, plan_settings_, std::move(made));
  }();
  report.plan_seconds += planned.plan_seconds;
  status.predicted_attention += planned.predicted_attention;
  const std::vector<NanoBatchResult> results = runner_.run({.nano_batches = planned.to_run(),
                                                            .schedule = schedule_,
                                                            .loss_scale = loss_scale,
                                                            .training = true});
  for (size_t i = 0; i < planned.nano_batches.size(); ++i) {
    const PlannedNanoBatch& nano = planned.nano_batches[i];
    report.plan_hashes.push_back(nano.plan.hash());
    for (const float loss : results[i].row_losses) status.loss_sum += loss;
    if (status.trouble.empty()) status.trouble = describe_bad_loss(nano, batch, results[i]);
  }
}

std::string Trainer::describe_bad_loss(const PlannedNanoBatch& planned, const TokenBatch& batch,
                                       const NanoBatchResult& result) const {
  const auto bad =
      std::ranges::find_if(result.row_losses, [](float loss) { return !std::isfinite(loss); });
  const bool bad_loss = bad != result.row_losses.end();
  if (!bad_loss && result.first_bad_row < 0) return {};
  const int64_t row = bad_loss ? bad - result.row_losses.begin() : result.first_bad_row;
  const RowPlace place = place_of_row(planned.plan.plan().batch, group_.rank(), row);
  const int document = planned.documents[static_cast<size_t>(place.document)];
  return cat(bad_loss ? "the loss" : "the gradient", " of token ", place.position, " of document ",
             batch.names[static_cast<size_t>(document)], " is not finite");
}

std::string Trainer::describe_bad_gradient() const {
  const std::span<float> gradients = model_->flat_gradients();
  const auto bad =
      std::ranges::find_if(gradients, [](float value) { return !std::isfinite(value); });
  if (bad == gradients.end()) return {};
  const int64_t element = bad - gradients.begin();
  for (const ParameterInfo& parameter : model_->parameters()) {
    if (element < parameter.offset + parameter.elements) {
      return cat("the gradient of ", parameter.name, " is not finite");
    }
  }
  return "a gradient is not finite";
}

void Trainer::stop_if_not_finite(const std::vector<RankStatus>& all) const {
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].trouble.empty()) continue;
    throw NumericError(cat(
        "[train] step ", steps_done_ + 1, ", rank ", rank, ": ", all[rank].trouble,
        "; weights are those before this step; lower train.learning_rate or look at the document"));
  }
}

void Trainer::update(StepReport& report) {
  const std::span<float> gradients = model_->flat_gradients();
  Range owned;
  {
    const LaneClock::Scope reducing(clock_, Lane::kReduce);
    owned = reducer_->reduce(gradients, deadline());
  }
  const LaneClock::Scope updating(clock_, Lane::kUpdate);
  const std::span<float> mine =
      gradients.subspan(static_cast<size_t>(owned.begin), static_cast<size_t>(owned.size()));
  double square = 0;
  for (const float value : mine) square += static_cast<double>(value) * value;
  report.gradient_norm = std::sqrt(reducer_->sum_over_owners(square, deadline()));
  if (!std::isfinite(report.gradient_norm)) {
    throw NumericError(cat("[train] step ", report.step,
                           ": the gradient norm over all ranks is not finite; "
                           "weights are those before this step; lower train.learning_rate"));
  }
  if (config_.gradient_clip > 0 && report.gradient_norm > config_.gradient_clip) {
    const auto factor = static_cast<float>(config_.gradient_clip / report.gradient_norm);
    for (float& value : mine) value *= factor;
  }
  report.learning_rate = learning_rate_.at(steps_done_);
  optimizer_->step(report.learning_rate);
  reducer_->publish(model_->flat_parameters(), deadline());
  report.updated = true;
}

}  // namespace cadenza
