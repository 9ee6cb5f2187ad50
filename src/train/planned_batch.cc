#include "train/planned_batch.h"

#include <numeric>
#include <utility>

#include "base/stopwatch.h"
#include "engine/agree_on_plan.h"
#include "planner/nano_batches.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

/// One request for each nano-batch of the schedule.
std::vector<NanoBatchRequest> requests_of(const std::vector<int64_t>& lengths,
                                          const PlanSettings& settings, int ranks) {
  PlanRequest whole{
      .documents = documents_of_lengths(lengths),
      .homes_given = false,
      .homes = ranks,
      .tokens_per_rank = settings.tokens_per_rank,
      .cluster = {.servers = ranks, .speeds = {}, .servers_per_node = settings.servers_per_node},
      .shape = settings.shape,
      .cost = settings.cost.get(),
      .tolerance = settings.tolerance,
      .options = {.capacity = settings.capacity}};
  if (settings.schedule == ScheduleKind::kPingPong)
    return split_nano_batches(settings.strategy, whole);
  if (!settings.strategy.places_tokens) {
    // The strategy is given homes: even ones, so that ranks are done with all but attention at
    // once.
    whole.documents =
        fill_evenly(std::move(whole.documents), ranks, settings.tokens_per_rank).documents;
    whole.homes_given = true;
  }
  std::vector<int> all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  return {{std::move(whole), std::move(all)}};
}

double predicted_attention(const Plan& plan, const CostModel& cost, Rank rank, int64_t heads) {
  double sum = 0;
  for (const Task& task : plan.tasks) {
    if (task.server != rank) continue;
    const double share = task.heads.empty()
                             ? 1
                             : static_cast<double>(task.heads.size()) / static_cast<double>(heads);
    sum += share * cost.task_cost(task.piece);
  }
  return sum;
}

/// Whole documents, by document of the plan.
std::vector<std::vector<int32_t>> documents_of(const TokenBatch& batch,
                                               const std::vector<int>& indices) {
  std::vector<std::vector<int32_t>> documents;
  for (const int index : indices) documents.push_back(batch.documents[static_cast<size_t>(index)]);
  return documents;
}

}  // namespace

MadePlans make_plans(const std::vector<int64_t>& lengths, const PlanSettings& settings, int ranks) {
  MadePlans made;
  const Stopwatch watch(made.seconds);
  for (const NanoBatchRequest& nano : requests_of(lengths, settings, ranks))
    made.plans.push_back(settings.strategy.plan(nano.request));
  return made;
}

std::vector<NanoBatch> PlannedBatch::to_run() const {
  std::vector<NanoBatch> nano;
  for (const PlannedNanoBatch& planned : nano_batches)
    nano.push_back({planned.programs, planned.tokens});
  return nano;
}

PlannedBatch plan_batch(Group& group, const TokenBatch& batch, const PlanSettings& settings,
                        std::optional<MadePlans> made) {
  const std::vector<int64_t> lengths = lengths_of(batch);
  if (group.rank() == 0 && !made) made = make_plans(lengths, settings, group.size());
  PlannedBatch planned;
  if (made) planned.plan_seconds = made->seconds;
  const auto nano_batches = requests_of(lengths, settings, group.size());
  for (size_t i = 0; i < nano_batches.size(); ++i) {
    const std::vector<int>& documents = nano_batches[i].documents;
    VerifiedPlan verified = agree_on_plan(
        group, group.rank() == 0 ? std::optional(std::move(made->plans[i])) : std::nullopt,
        Deadline::after_seconds(settings.deadline_seconds));
    auto programs = compile_plan(verified, settings.shape.heads, settings.shape.kv_heads);
    RankProgram& program = programs[static_cast<size_t>(group.rank())];
    if (i > 0)
      link_carried_rows(planned.nano_batches.front().plan.plan().batch, group.rank(), program);
    planned.predicted_attention +=
        predicted_attention(verified.plan(), *settings.cost, group.rank(), settings.shape.heads);
    RankTokens tokens =
        rank_tokens(verified.plan().batch, documents_of(batch, documents), group.rank());
    planned.nano_batches.push_back(
        {std::move(verified), {std::move(program)}, std::move(tokens), documents});
  }
  return planned;
}

std::vector<int64_t> lengths_of(const TokenBatch& batch) {
  std::vector<int64_t> lengths;
  for (const auto& document : batch.documents)
    lengths.push_back(static_cast<int64_t>(document.size()));
  return lengths;
}

}  // namespace cadenza
