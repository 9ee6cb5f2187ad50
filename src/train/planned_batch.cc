#include "train/planned_batch.h"

#include "runtime/agree_on_plan.h"
#include "runtime/stopwatch.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

Plan make_plan(const TokenBatch& batch, const PlanSettings& settings, int ranks) {
  std::vector<int64_t> lengths;
  for (const auto& document : batch.documents)
    lengths.push_back(static_cast<int64_t>(document.size()));
  return settings.strategy.plan({.documents = documents_of_lengths(lengths),
                                 .homes_given = false,
                                 .homes = ranks,
                                 .tokens_per_rank = settings.tokens_per_rank,
                                 .cluster = {.servers = ranks, .speeds = {}},
                                 .shape = settings.shape,
                                 .cost = settings.cost.get(),
                                 .tolerance = settings.tolerance,
                                 .options = {.capacity = settings.capacity}});
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

}  // namespace

PlannedBatch plan_batch(Group& group, const TokenBatch& batch, const PlanSettings& settings) {
  double plan_seconds = 0;
  std::optional<Plan> plan;
  if (group.rank() == 0) {
    const Stopwatch watch(plan_seconds);
    plan = make_plan(batch, settings, group.size());
  }
  VerifiedPlan verified =
      agree_on_plan(group, plan, Deadline::after_seconds(settings.deadline_seconds));
  auto programs = compile_plan(verified, settings.shape.heads, settings.shape.kv_heads);
  RankTokens tokens = rank_tokens(verified.plan().batch, batch.documents, group.rank());
  const double predicted =
      predicted_attention(verified.plan(), *settings.cost, group.rank(), settings.shape.heads);
  return {.plan = std::move(verified),
          .program = std::move(programs[static_cast<size_t>(group.rank())]),
          .tokens = std::move(tokens),
          .plan_seconds = plan_seconds,
          .predicted_attention = predicted};
}

}  // namespace cadenza
