#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/verify_plan.h"
#include "planner/strategy.h"
#include "step/pass_runner.h"
#include "step/recorded_model.h"
#include "testing/spawn_ranks.h"

/// For tests of the runtime: plans of a batch, and their run by ranks as threads.
namespace cadenza {

inline constexpr int kLayers = 2;
inline constexpr int64_t kHeads = 6, kKvHeads = 2, kHeadDim = 8;
inline constexpr double kDeadlineSeconds = 20;

/// A strategy that places documents may put all of them on one rank.
inline Plan plan_with(const std::string& name, const Batch& batch, int servers) {
  const PairsCostModel cost;
  const Strategy& strategy = find_strategy(name);
  int64_t tokens = 0;
  for (const Document& document : batch.documents) tokens += document.length;
  return strategy.plan({.documents = batch.documents,
                        .homes_given = !strategy.places_tokens,
                        .homes = batch.homes,
                        .tokens_per_rank = tokens,
                        .cluster = {.servers = servers, .speeds = {}, .servers_per_node = 2},
                        .shape = {kHeads, kKvHeads, kHeadDim, Dtype::kFloat32},
                        .cost = &cost,
                        .tolerance = 0.05});
}

inline std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : all_strategies()) names.emplace_back(strategy.name);
  return names;
}

/// Nothing where the strategy refuses the request and says so.
inline std::optional<Plan> plan_if_applicable(const std::string& name, const Batch& batch,
                                              int servers) {
  try {
    return plan_with(name, batch, servers);
  } catch (const NotApplicable&) {
    return std::nullopt;
  }
}

/// A plan of one nano-batch, and the document numbers that its model knows, by document of the
/// plan; empty: the same.
struct NanoPlan {
  Plan plan;
  std::vector<int> documents;
};

inline RankTokens tokens_of(const NanoPlan& nano, Rank rank) {
  RankTokens tokens = recorded_tokens(nano.plan.batch, rank);
  if (nano.documents.empty()) return tokens;
  for (int64_t& id : tokens.ids) id = nano.documents[static_cast<size_t>(id)];
  return tokens;
}

/// Runs every rank of the plans as a thread, forward and backward, each against its model_of(rank):
/// one plan by the plain schedule, two by ping-pong.
inline void run_plans(const std::vector<NanoPlan>& plans,
                      const std::function<Segments&(Rank)>& model_of,
                      const ExchangeOptions& options = {}) {
  spawn_ranks(plans.front().plan.servers, [&](Group& group) {
    const Rank rank = group.rank();
    const ModelShape shape{kHeads, kKvHeads, kHeadDim, model_of(rank).dtype(),
                           options.gradient_dtype};
    std::vector<RankProgram> programs;
    std::vector<RankTokens> tokens;
    int64_t sent = 0;
    for (const NanoPlan& nano : plans) {
      programs.push_back(compile_plan(verify_plan(nano.plan), kHeads, kKvHeads, rank));
      tokens.push_back(tokens_of(nano, rank));
      sent += kLayers * sent_bytes(programs.back(), shape, options.inputs).total();
    }
    if (plans.size() == 2) link_carried_rows(plans[0].plan.batch, rank, programs[1]);
    std::vector<NanoBatch> nano_batches;
    for (size_t i = 0; i < plans.size(); ++i)
      nano_batches.push_back({std::span(programs).subspan(i, 1), tokens[i]});
    const auto backend = make_cpu_backend(1);
    LaneClock clock;
    AttentionContext context{group, *backend, clock, kDeadlineSeconds};
    const auto schedule = make_schedule(
        plans.size() == 2 ? ScheduleKind::kPingPong : ScheduleKind::kPlain, kLayers, true);
    PassRunner(context, model_of(rank), options).run({nano_batches, schedule, 1.0, true});
    EXPECT_EQ(context.sent_bytes, sent) << "rank " << rank;
  });
}

/// One plan, by the plain schedule.
inline void run_plan(const Plan& plan, const std::function<Segments&(Rank)>& model_of,
                     const ExchangeOptions& options = {}) {
  run_plans({{plan, {}}}, model_of, options);
}

/// All ranks against one recorded model.
inline void run_plan(const Plan& plan, RecordedModel& model,
                     std::optional<Dtype> gradient_dtype = std::nullopt) {
  run_plan(plan, [&](Rank) -> Segments& { return model; }, {.gradient_dtype = gradient_dtype});
}

}  // namespace cadenza
