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
#include "model/families.h"
#include "model/llama.h"
#include "train/layer_kinds.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

std::unique_ptr<TrainableModel> build_model(const TrainConfig& config) {
  const ModelOptions options{.dtype = config.dtype, .recompute = config.recompute};
  if (config.checkpoint.empty()) return make_llama(config.model, options, config.seed);
  auto model = load_model(config.checkpoint, options);
  const bool special_tokens = config.data.begin_token || config.data.end_token;
  const int64_t needed = special_tokens ? ByteVocabulary::kSize : ByteVocabulary::kBeginOfDocument;
  if (model->vocab_size() < needed) {
    throw ConfigError(cat("[train] text is read as ", needed,
                          " tokens (bytes and special tokens), but the vocabulary of ",
                          config.checkpoint, " is ", model->vocab_size(),
                          "; expected a checkpoint with a larger one"));
  }
  return model;
}

ModelShape shape_of(const Segments& model, const TrainConfig& config) {
  return attention_spec(model, {.gradient_dtype = config.gradient_exchange_dtype}).shape;
}

StepLengths lengths_of(const std::vector<DocumentBatch>& micro_batches) {
  StepLengths lengths;
  for (const DocumentBatch& batch : micro_batches) lengths.push_back(batch.lengths());
  return lengths;
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
                 const std::string& strategy, const TokenSource& source)
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
      source_(source),
      plan_settings_{.strategy = find_strategy(strategy),
                     .shape = shape_of(*model_, config),
                     .kinds = layer_kinds(*model_),
                     .planning = config.planning,
                     .tokens_per_rank = config.tokens_per_rank,
                     .deadline_seconds = config.deadline_seconds,
                     .cost = read_cost_model(config.planning.cost_model, shape_of(*model_, config)),
                     .schedule = config.schedule},
      ahead_(group, plan_settings_),
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

/// One step while it runs.
class Trainer::Step final : public StepParts {
 public:
  /// `other_bytes`: memory of others in this process, which is no part of the step's peak.
  Step(Trainer& trainer, const std::vector<DocumentBatch>& micro_batches, int64_t other_bytes,
       StepReport& report)
      : trainer_(trainer),
        micro_batches_(micro_batches),
        other_bytes_(other_bytes),
        report_(report) {}

  /// Losses and gradients are means over targets; without any they are 0.
  double loss_scale() const {
    return report_.targets > 0 ? 1.0 / static_cast<double>(report_.targets) : 0.0;
  }

  /// The plans: made while the step before ran, if they were begun with.
  void take_plans() {
    const LaneClock::Scope planning(trainer_.clock_, Lane::kPlan);
    {
      const Stopwatch waiting(report_.plan_wait_seconds);
      agreed_ = trainer_.ahead_.take(lengths_of(micro_batches_));
    }
    for (const AgreedBatch& batch : agreed_) {
      report_.plan_seconds += batch.plan_seconds;
      status_.predicted_attention += batch.predicted_attention;
      for (const AgreedNanoBatch& nano : batch.nano_batches)
        report_.plan_hashes.push_back(nano.plans.front().hash());
    }
    if (!trainer_.next_.empty()) trainer_.ahead_.begin(trainer_.next_);
    trainer_.next_.clear();
  }

  std::vector<NanoBatch> begin_micro_batch(int micro_batch) override {
    const auto index = static_cast<size_t>(micro_batch);
    tokens_.clear();
    for (const AgreedNanoBatch& nano : agreed_[index].nano_batches) {
      std::vector<DocumentHandle> handles;
      for (const int document : nano.documents)
        handles.push_back(micro_batches_[index].documents[static_cast<size_t>(document)]);
      tokens_.push_back(
          read_rank_tokens(trainer_.source_, handles, nano.batch(), trainer_.group_.rank()));
    }
    std::vector<NanoBatch> nano_batches;
    for (size_t i = 0; i < tokens_.size(); ++i)
      nano_batches.push_back({agreed_[index].nano_batches[i].programs, tokens_[i]});
    return nano_batches;
  }

  void end_micro_batch(int micro_batch, const std::vector<NanoBatchResult>& results) override {
    const auto index = static_cast<size_t>(micro_batch);
    for (size_t i = 0; i < results.size(); ++i) {
      for (const float loss : results[i].row_losses) status_.loss_sum += loss;
      if (!status_.trouble.empty()) continue;
      status_.trouble = trainer_.describe_bad_loss(agreed_[index].nano_batches[i],
                                                   micro_batches_[index], results[i]);
    }
  }

  void post_plans() override {
    const LaneClock::Scope planning(trainer_.clock_, Lane::kPlan);
    trainer_.ahead_.post();
  }

  void receive_plans() override {
    const LaneClock::Scope planning(trainer_.clock_, Lane::kPlan);
    trainer_.ahead_.receive();
  }

  /// Nobody goes on unless all have finished their passes, and nothing is wrong on any.
  void share_status() override {
    if (status_.trouble.empty()) status_.trouble = trainer_.describe_bad_gradient();
    status_.peak_memory_bytes = MemoryCounter::peak_bytes() - other_bytes_;
    const LaneClock::Scope waiting(trainer_.clock_, Lane::kImbalanceWait);
    const std::vector<RankStatus> all =
        exchange_status(trainer_.group_, status_, trainer_.deadline());
    trainer_.stop_if_not_finite(all);
    double loss_sum = 0;
    for (const RankStatus& theirs : all) {
      loss_sum += theirs.loss_sum;
      report_.rank_predicted_attention.push_back(theirs.predicted_attention);
      report_.rank_peak_memory_bytes.push_back(theirs.peak_memory_bytes);
    }
    report_.loss = loss_sum * loss_scale();
  }

  void reduce_gradients() override {
    if (report_.targets > 0) trainer_.reduce(report_);
  }

  void update() override {
    if (report_.targets == 0) return;
    const LaneClock::Scope updating(trainer_.clock_, Lane::kUpdate);
    report_.learning_rate = trainer_.learning_rate_.at(trainer_.steps_done_);
    trainer_.optimizer_->step(report_.learning_rate);
    trainer_.reducer_->publish(trainer_.model_->flat_parameters(), trainer_.deadline());
    report_.updated = true;
  }

 private:
  Trainer& trainer_;
  const std::vector<DocumentBatch>& micro_batches_;
  const int64_t other_bytes_;
  StepReport& report_;
  std::vector<AgreedBatch> agreed_;  // by micro-batch
  std::vector<RankTokens> tokens_;   // of the one that runs, by nano-batch
  RankStatus status_;
};

StepReport Trainer::step(const std::vector<DocumentBatch>& micro_batches) {
  StepReport report{.step = steps_done_ + 1};
  for (const DocumentBatch& batch : micro_batches) {
    report.tokens += batch.tokens();
    report.targets += batch.targets(source_);
    report.documents += static_cast<int64_t>(batch.documents.size());
  }
  const std::vector<Action> schedule =
      step_schedule(config_.schedule, model_->layers(), static_cast<int>(micro_batches.size()));
  barrier(group_, deadline());
  const int64_t other_bytes = MemoryCounter::current_bytes() - static_bytes_;
  MemoryCounter::reset_peak();
  clock_.restart();
  context_.sent_bytes = 0;
  std::ranges::fill(model_->flat_gradients(), 0.0f);
  Step step(*this, micro_batches, other_bytes, report);
  step.take_plans();
  runner_.run(schedule, step.loss_scale(), step);
  const RankTimes times{clock_.times(), context_.sent_bytes};
  report.seconds = times.lanes.total();
  report.rank_times = exchange_times(group_, times, deadline());
  ++steps_done_;
  return report;
}

void Trainer::plan_ahead(const std::vector<DocumentBatch>& micro_batches) {
  next_ = lengths_of(micro_batches);
}

std::string Trainer::describe_bad_loss(const AgreedNanoBatch& nano_batch,
                                       const DocumentBatch& batch,
                                       const NanoBatchResult& result) const {
  const auto bad =
      std::ranges::find_if(result.row_losses, [](float loss) { return !std::isfinite(loss); });
  const bool bad_loss = bad != result.row_losses.end();
  if (!bad_loss && result.first_bad_row < 0) return {};
  const int64_t row = bad_loss ? bad - result.row_losses.begin() : result.first_bad_row;
  const RowPlace place = place_of_row(nano_batch.batch(), group_.rank(), row);
  const int document = nano_batch.documents[static_cast<size_t>(place.document)];
  return cat(bad_loss ? "the loss" : "the gradient", " of token ", place.position, " of document ",
             name_of(source_, batch.documents[static_cast<size_t>(document)]), " is not finite");
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

void Trainer::reduce(StepReport& report) {
  const LaneClock::Scope reducing(clock_, Lane::kReduce);
  const std::span<float> gradients = model_->flat_gradients();
  const Range owned = reducer_->reduce(gradients, deadline());
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
}

}  // namespace cadenza
