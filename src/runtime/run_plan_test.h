#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategy.h"
#include "runtime/agree_on_plan.h"
#include "runtime/rank_runtime.h"
#include "runtime/recorded_model.h"
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

/// Runs every rank of the plan as a thread, forward and backward, each against its model_of(rank).
inline void run_plan(const Plan& plan, const std::function<Segments&(Rank)>& model_of,
                     std::optional<Dtype> gradient_dtype = std::nullopt) {
  spawn_ranks(plan.servers, [&](Group& group) {
    const Deadline deadline = Deadline::after_seconds(kDeadlineSeconds);
    const VerifiedPlan agreed = agree_on_plan(
        group, group.rank() == 0 ? std::optional<Plan>(plan) : std::nullopt, deadline);
    const auto programs = compile_plan(agreed, kHeads, kKvHeads);
    const auto backend = make_cpu_backend(1);
    RankRuntime runtime(group, *backend, model_of(group.rank()),
                        {.deadline_seconds = kDeadlineSeconds, .gradient_dtype = gradient_dtype});
    const RankProgram& program = programs[static_cast<size_t>(group.rank())];
    const auto schedule = plain_schedule(kLayers, true);
    const RankTokens tokens = recorded_tokens(plan.batch, group.rank());
    const PassResult result = runtime.run({program, schedule, tokens, 1.0, true});
    const Dtype dtype = model_of(group.rank()).dtype();
    const ProgramBytes bytes =
        sent_bytes(program, {kHeads, kKvHeads, kHeadDim, dtype, gradient_dtype});
    EXPECT_EQ(result.times.sent_bytes, kLayers * bytes.total()) << "rank " << group.rank();
  });
}

/// All ranks against one recorded model.
inline void run_plan(const Plan& plan, RecordedModel& model,
                     std::optional<Dtype> gradient_dtype = std::nullopt) {
  run_plan(
      plan, [&](Rank) -> Segments& { return model; }, gradient_dtype);
}

}  // namespace cadenza
