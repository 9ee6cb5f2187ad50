// The promise that everything else rests on: any number of ranks, any strategy, any layout of
// documents gives the loss and every gradient of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "comm/collectives.h"
#include "core/verify_plan.h"
#include "data/memory_tokens.h"
#include "model/llama.h"
#include "planner/nano_batches.h"
#include "planner/strategy.h"
#include "step/pass_runner.h"
#include "testing/expect_close.h"
#include "testing/random_batch.h"
#include "testing/spawn_ranks.h"
#include "train/gradient_reducer.h"
#include "train/rank_tokens.h"

namespace cadenza {
namespace {

constexpr double kDeadlineSeconds = 60;

ModelConfig small_model() {
  ModelConfig config;
  config.vocab_size = 31;
  config.hidden_size = 20;  // not heads x head_dim
  config.intermediate_size = 28;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 6;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.initializer_range = 0.2;  // large, so that attention is far from uniform
  return config;
}

using Documents = std::vector<std::vector<int32_t>>;

Documents random_tokens(Rng& rng, const Batch& batch) {
  Documents documents;
  for (const Document& document : batch.documents) {
    std::vector<int32_t>& ids = documents.emplace_back();
    for (int64_t i = 0; i < document.length; ++i)
      ids.push_back(static_cast<int32_t>(uniform_below(rng, 31)));
  }
  return documents;
}

struct LossAndGradients {
  double loss = 0;
  std::vector<float> gradients;
};

/// `capacity` is of strategies that place documents; 0: all of them on one rank, if they like.
PlanRequest request_of(const std::string& name, const Batch& batch, int64_t capacity = 0) {
  static const PairsCostModel cost;
  int64_t tokens = 0;
  for (const Document& document : batch.documents) tokens += document.length;
  return {.documents = batch.documents,
          .homes_given = !find_strategy(name).places_tokens,
          .homes = batch.homes,
          .tokens_per_rank = capacity > 0 ? capacity : tokens,
          .cluster = {.servers = batch.homes, .speeds = {}, .servers_per_node = 2},
          .shape = {6, 2, 8, Dtype::kFloat32},
          .cost = &cost,
          .tolerance = 0.05};
}

Plan plan_with(const std::string& name, const Batch& batch, int64_t capacity = 0) {
  return find_strategy(name).plan(request_of(name, batch, capacity));
}

/// The plan of one nano-batch, and the documents of its batch.
struct NanoPlan {
  Plan plan;
  Documents documents;
};

/// Both nano-batches of a ping-pong.
std::vector<NanoPlan> nano_plans(const std::string& name, const Batch& batch,
                                 const Documents& documents) {
  PlanRequest request = request_of(name, batch);
  request.homes_given = false;
  std::vector<NanoPlan> plans;
  for (const NanoBatchRequest& nano : split_nano_batches(find_strategy(name), request)) {
    NanoPlan& made = plans.emplace_back(NanoPlan{find_strategy(name).plan(nano.request), {}});
    for (const int index : nano.documents)
      made.documents.push_back(documents[static_cast<size_t>(index)]);
  }
  return plans;
}

/// One rank's part of one pass; the sums over ranks are on every rank.
LossAndGradients run_rank(Group& group, const std::vector<NanoPlan>& plans, int64_t targets,
                          const ModelOptions& options, BackwardInputs inputs) {
  const Deadline deadline = Deadline::after_seconds(kDeadlineSeconds);
  set_model_threads(1);
  const auto model = make_llama(small_model(), options, /*seed=*/3);
  const auto backend = make_cpu_backend(1);
  const double scale = targets > 0 ? 1.0 / static_cast<double>(targets) : 0.0;
  std::vector<RankProgram> programs;
  std::vector<RankTokens> tokens;
  for (const NanoPlan& nano : plans) {
    const VerifiedPlan agreed = verify_plan(nano.plan);
    programs.push_back(compile_plan(agreed, model->heads(), model->kv_heads(), group.rank()));
    MemoryTokens source;
    std::vector<DocumentHandle> handles;
    for (const auto& ids : nano.documents) {
      source.add({ids});
      handles.push_back(source.whole(handles.size()));
    }
    tokens.push_back(read_rank_tokens(source, handles, nano.plan.batch, group.rank()));
  }
  if (plans.size() == 2) link_carried_rows(plans[0].plan.batch, group.rank(), programs[1]);
  std::vector<NanoBatch> nano_batches;
  for (size_t i = 0; i < plans.size(); ++i)
    nano_batches.push_back({std::span(programs).subspan(i, 1), tokens[i]});
  const auto schedule = make_schedule(
      plans.size() == 2 ? ScheduleKind::kPingPong : ScheduleKind::kPlain, model->layers(), true);
  LaneClock clock;
  AttentionContext context{group, *backend, clock, kDeadlineSeconds};
  const auto results =
      PassRunner(context, *model, {.inputs = inputs}).run({nano_batches, schedule, scale, true});

  double loss_sum[1] = {0};
  for (const NanoBatchResult& nano : results) {
    for (const float loss : nano.row_losses) loss_sum[0] += loss;
  }
  all_reduce_sum(group, std::span<double>(loss_sum), deadline);
  make_all_reduce(group)->reduce(model->flat_gradients(), deadline);
  const std::span<float> gradients = model->flat_gradients();
  return {loss_sum[0] * scale, {gradients.begin(), gradients.end()}};
}

LossAndGradients run(const std::vector<NanoPlan>& plans, const Documents& documents,
                     const ModelOptions& options = {},
                     BackwardInputs inputs = BackwardInputs::kKept) {
  int64_t targets = 0;
  for (const auto& document : documents) targets += static_cast<int64_t>(document.size()) - 1;
  const int servers = plans.front().plan.servers;
  std::vector<LossAndGradients> results(static_cast<size_t>(servers));
  spawn_ranks(servers, [&](Group& group) {
    results[static_cast<size_t>(group.rank())] = run_rank(group, plans, targets, options, inputs);
  });
  for (const LossAndGradients& result : results)
    EXPECT_EQ(result.gradients, results[0].gradients) << "ranks differ";
  return results[0];
}

LossAndGradients run(const Plan& plan, const Documents& documents,
                     const ModelOptions& options = {}) {
  return run(std::vector<NanoPlan>{{plan, documents}}, documents, options);
}

/// The same documents, all on one rank.
Batch on_one_rank(Batch batch) {
  batch.homes = 1;
  for (Document& document : batch.documents) document.shards = {{{0, document.length}, 0}};
  return batch;
}

/// Of the loss, relative; of gradients, against the largest of their tensor. In bf16 partial
/// results are rounded where they are sent, and every later rounding of one process may fall the
/// other way (docs/numerics.md).
struct Tolerance {
  double loss, gradients;
};
Tolerance tolerance_of(Dtype dtype) {
  if (dtype == Dtype::kFloat32) return {1e-5, 1e-5};
  // A part of it is for kernels whose products take bf16 operands: those round P and dS too.
  return {1e-3, 12 * 0x1p-8};
}

void expect_equal_to_one_rank(const LossAndGradients& got, const LossAndGradients& one,
                              Dtype dtype = Dtype::kFloat32) {
  const Tolerance tolerance = tolerance_of(dtype);
  EXPECT_LE(std::abs(got.loss - one.loss), tolerance.loss * std::abs(one.loss))
      << got.loss << " against " << one.loss;
  const auto model = make_llama(small_model(), {}, 3);
  for (const ParameterInfo& parameter : model->parameters()) {
    const auto part = [&](const std::vector<float>& all) {
      return std::span<const float>(all).subspan(static_cast<size_t>(parameter.offset),
                                                 static_cast<size_t>(parameter.elements));
    };
    EXPECT_TRUE(close_to(part(got.gradients), part(one.gradients), tolerance.gradients))
        << parameter.name;
  }
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : all_strategies()) names.emplace_back(strategy.name);
  return names;
}

class EveryStrategy : public testing::TestWithParam<std::tuple<int, std::string, Dtype>> {};

TEST_P(EveryStrategy, GivesLossAndGradientsOfOneProcess) {
  const auto& [ranks, strategy, dtype] = GetParam();
  const ModelOptions options{.dtype = dtype};
  int planned = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch = random_batch(
        rng, {.ranks = ranks, .max_documents = 5, .max_length = 40, .masks = seed % 2 == 0});
    const Documents documents = random_tokens(rng, batch);
    const LossAndGradients one = run(plan_with("home", on_one_rank(batch)), documents, options);
    std::optional<Plan> plan;
    try {
      plan = plan_with(strategy, batch);
    } catch (const NotApplicable&) {
      continue;
    }
    ++planned;
    expect_equal_to_one_rank(run(*plan, documents, options), one, dtype);
  }
  EXPECT_GT(planned, 0) << strategy << " refuses every batch";
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryStrategy,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(strategy_names()),
                                          testing::Values(Dtype::kFloat32, Dtype::kBFloat16)));

// Nano-batches of documents that are cut in the middle, of whole ones, and of none.
TEST_P(EveryStrategy, GivesTheSameUnderPingPong) {
  const auto& [ranks, strategy, dtype] = GetParam();
  const ModelOptions options{.dtype = dtype};
  int planned = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch = random_batch(
        rng, {.ranks = ranks, .max_documents = 4, .max_length = 40, .masks = seed % 2 == 0});
    const Documents documents = random_tokens(rng, batch);
    std::vector<NanoPlan> plans;
    try {
      plans = nano_plans(strategy, batch, documents);
    } catch (const NotApplicable&) {
      continue;
    }
    ++planned;
    const LossAndGradients one = run(plan_with("home", on_one_rank(batch)), documents, options);
    const auto inputs = seed % 4 < 2 ? BackwardInputs::kKept : BackwardInputs::kSentAgain;
    expect_equal_to_one_rank(run(plans, documents, options, inputs), one, dtype);
  }
  EXPECT_GT(planned, 0) << strategy << " refuses every batch";
}

TEST(EqualsOneRank, WithMoreRanksThanDocumentsAndRanksWithoutTokens) {
  for (const int64_t length : {1, 3, 5}) {
    Batch batch = on_one_rank({.homes = 1, .documents = documents_of_lengths({length})});
    batch.homes = 4;
    Rng rng(7);
    const Documents documents = random_tokens(rng, batch);
    const LossAndGradients one = run(plan_with("home", on_one_rank(batch)), documents);
    for (const char* strategy : {"home", "cad", "packed", "ring", "mesh", "per_document_cp",
                                 "ulysses", "basp", "sap", "hdp", "wlb", "fcp"}) {
      const LossAndGradients four = run(plan_with(strategy, batch), documents);
      if (length == 1) {
        EXPECT_EQ(four.loss, 0.0);  // no target: no loss, no gradient
        for (const float gradient : four.gradients) ASSERT_EQ(gradient, 0.0f);
      } else {
        expect_equal_to_one_rank(four, one);
      }
    }
  }
}

// Between every rank full to the last token and room for all of them on one rank lie ranks that
// hold more than others, or nothing.
TEST(EqualsOneRank, WithAnyCapacityUnderStrategiesThatPlaceDocuments) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng(seed);
    const Batch batch = random_batch(
        rng, {.ranks = 3, .max_documents = 6, .max_length = 30, .masks = seed % 2 == 0});
    const Documents documents = random_tokens(rng, batch);
    const LossAndGradients one = run(plan_with("home", on_one_rank(batch)), documents);
    int64_t tokens = 0;
    for (const Document& document : batch.documents) tokens += document.length;
    for (const char* strategy : {"hdp", "wlb", "fcp"}) {
      for (const int64_t capacity : {(tokens + 2) / 3, tokens / 2 + 1}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << strategy << ", " << capacity);
        expect_equal_to_one_rank(run(plan_with(strategy, batch, capacity), documents), one);
      }
    }
  }
}

TEST(EqualsOneRank, WhenSegmentsAreRecomputed) {
  Rng rng(11);
  const Batch batch = random_batch(rng, {.ranks = 2, .max_documents = 4, .max_length = 60});
  const Documents documents = random_tokens(rng, batch);
  const LossAndGradients one = run(plan_with("home", on_one_rank(batch)), documents);
  const ModelOptions options{.recompute = Recompute::kSegment, .head_chunk_rows = 7};
  expect_equal_to_one_rank(run(plan_with("cad", batch), documents, options), one);
}

TEST(EqualsOneRank, AndTheSamePlanTwiceGivesTheSameBits) {
  Rng rng(13);
  const Batch batch = random_batch(rng, {.ranks = 3, .max_documents = 5, .max_length = 80});
  const Documents documents = random_tokens(rng, batch);
  const Plan plan = plan_with("cad", batch);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    const LossAndGradients first = run(plan, documents, {.dtype = dtype});
    const LossAndGradients second = run(plan, documents, {.dtype = dtype});
    EXPECT_EQ(first.loss, second.loss);
    EXPECT_EQ(first.gradients, second.gradients);
  }
}

}  // namespace
}  // namespace cadenza
