#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "base/error.h"
#include "step/expect_reference_test.h"
#include "step/run_plan_test.h"
#include "testing/random_batch.h"
#include "testing/random_plan.h"

namespace cadenza {
namespace {

class EveryStrategy : public testing::TestWithParam<std::tuple<int, std::string, Dtype>> {};

TEST_P(EveryStrategy, GivesEachRowTheAttentionOfItsWholeDocument) {
  const auto& [ranks, strategy, dtype] = GetParam();
  int planned = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch =
        random_batch(rng, {.ranks = ranks, .max_documents = 6, .max_length = 60, .masks = true});
    const std::optional<Plan> plan = plan_if_applicable(strategy, batch, ranks);
    if (!plan) continue;
    ++planned;
    RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, seed, dtype);
    run_plan(*plan, model);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (size_t document = 0; document < batch.documents.size(); ++document) {
        expect_reference(batch, model.layer(layer), document, tolerance_of(dtype));
      }
    }
  }
  EXPECT_GT(planned, 0) << strategy << " refuses every batch";
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryStrategy,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(strategy_names()),
                                          testing::Values(Dtype::kFloat32, Dtype::kBFloat16)));

class EveryDtype : public testing::TestWithParam<Dtype> {};

TEST_P(EveryDtype, SamePlanTwiceGivesTheSameBits) {
  Rng rng(5);
  const Batch batch = random_batch(rng, {.ranks = 3, .max_documents = 5, .max_length = 90});
  const Plan plan = plan_with("cad", batch, 3);
  RecordedModel first(batch, kLayers, kHeads, kKvHeads, kHeadDim, 5, GetParam());
  RecordedModel second = first;
  run_plan(plan, first);
  run_plan(plan, second);
  EXPECT_EQ(first.layer(1).o.documents, second.layer(1).o.documents);
  EXPECT_EQ(first.layer(0).dq.documents, second.layer(0).dq.documents);
  EXPECT_EQ(first.layer(0).dk.documents, second.layer(0).dk.documents);
}

// Twice, because with rounds the order of merging is the rounds' and the task ids'.
TEST_P(EveryDtype, RowsMayComeInRoundsAndBePassedOn) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const int ranks = static_cast<int>(uniform_between(rng, 2, 5));
    const Batch batch = random_batch(
        rng, {.ranks = ranks, .max_documents = 3, .max_length = 40, .masks = seed % 2 == 0});
    const Plan plan = with_random_rounds(rng, random_plan(rng, batch, ranks, kHeads));
    RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, seed, GetParam());
    RecordedModel again = model;
    run_plan(plan, model);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (size_t document = 0; document < batch.documents.size(); ++document)
        expect_reference(batch, model.layer(layer), document, tolerance_of(GetParam()));
    }
    run_plan(plan, again);
    EXPECT_EQ(model.layer(1).o.documents, again.layer(1).o.documents);
    EXPECT_EQ(model.layer(0).dk.documents, again.layer(0).dk.documents);
  }
}

TEST_P(EveryDtype, GradientsMayTravelAsTheyWereSummed) {
  Rng rng(11);
  const Batch batch = random_batch(rng, {.ranks = 3, .max_documents = 4, .max_length = 60});
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 11, GetParam());
  run_plan(random_plan(rng, batch, 3, kHeads), model, Dtype::kFloat32);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (size_t document = 0; document < batch.documents.size(); ++document)
      expect_reference(batch, model.layer(layer), document, tolerance_of(GetParam()));
  }
}

TEST_P(EveryDtype, TasksMaySplitKeysAndHeadsAndServersMayHoldNoTokens) {
  // One document of 10 on rank 0; rank 1 serves only; rows x keys x heads cut every way.
  Batch batch = fill_sequentially(documents_of_lengths({10}), 1, 10);
  Plan plan{.strategy = "by hand", .servers = 3, .batch = batch, .tasks = {}};
  const Band causal = Band::causal();
  plan.tasks = {
      {.document = 0, .piece = {{0, 6}, {0, 6}, causal}, .heads = {0, 2}, .server = 1},
      {.document = 0, .piece = {{0, 6}, {0, 6}, causal}, .heads = {2, 6}, .server = 2},
      {.document = 0, .piece = {{6, 10}, {0, 3}, causal}, .heads = {}, .server = 2},
      {.document = 0, .piece = {{6, 10}, {3, 10}, causal}, .heads = {0, 5}, .server = 1},
      {.document = 0, .piece = {{6, 10}, {3, 10}, causal}, .heads = {5, 6}, .server = 0},
  };
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 9, GetParam());
  run_plan(plan, model);
  for (int layer = 0; layer < kLayers; ++layer) {
    expect_reference(batch, model.layer(layer), 0, tolerance_of(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EveryDtype, testing::Values(Dtype::kFloat32, Dtype::kBFloat16),
                         [](const auto& instance) { return dtype_name(instance.param); });

TEST(PassRunner, RankThatDiesEndsTheOthersAndIsNamed) {
  Rng rng(3);
  const Batch batch = fill_sequentially(documents_of_lengths({90}), 3, 30);
  const Plan plan = plan_with("cad", batch, 3);
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 3);
  std::vector<std::string> messages(3);
  spawn_ranks(3, [&](Group& group) {
    if (group.rank() == 2) {
      group.leave("out of coffee");
      return;
    }
    const auto backend = make_cpu_backend(1);
    LaneClock clock;
    AttentionContext context{group, *backend, clock, kDeadlineSeconds};
    try {
      const auto programs = compile_plan(verify_plan(plan), kHeads, kKvHeads);
      const RankTokens tokens = recorded_tokens(plan.batch, group.rank());
      const auto schedule = plain_schedule(kLayers, true);
      const auto rank = static_cast<size_t>(group.rank());
      PassRunner(context, model)
          .run({{{std::span(programs).subspan(rank, 1), tokens}}, schedule, 1.0, true});
    } catch (const PeerError& error) {
      messages[static_cast<size_t>(group.rank())] = error.what();
      group.leave(error.what());
    }
  });
  EXPECT_THAT(messages[0] + messages[1], testing::HasSubstr("rank 2"));
  EXPECT_FALSE(messages[0].empty());
  EXPECT_FALSE(messages[1].empty());
}

}  // namespace
}  // namespace cadenza
