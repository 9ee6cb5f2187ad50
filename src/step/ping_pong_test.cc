#include <gtest/gtest.h>

#include <tuple>

#include "planner/nano_batches.h"
#include "step/expect_reference_test.h"
#include "step/run_plan_test.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

/// The plans of both nano-batches; nothing where the strategy refuses one.
std::vector<NanoPlan> nano_plans(const std::string& name, const Batch& batch, int ranks) {
  const PairsCostModel cost;
  const Strategy& strategy = find_strategy(name);
  int64_t tokens = 0;
  for (const Document& document : batch.documents) tokens += document.length;
  const PlanRequest request{.documents = batch.documents,
                            .homes = batch.homes,
                            .tokens_per_rank = tokens,
                            .cluster = {.servers = ranks, .speeds = {}, .servers_per_node = 2},
                            .shape = {kHeads, kKvHeads, kHeadDim, Dtype::kFloat32},
                            .cost = &cost,
                            .tolerance = 0.05};
  std::vector<NanoPlan> plans;
  try {
    for (const NanoBatchRequest& nano : split_nano_batches(strategy, request))
      plans.push_back({strategy.plan(nano.request), nano.documents});
  } catch (const NotApplicable&) {
    return {};
  }
  return plans;
}

int64_t carried_rows(const std::vector<NanoPlan>& plans) {
  int64_t rows = 0;
  const auto programs = compile_plan(verify_plan(plans[1].plan), kHeads, kKvHeads);
  for (const RankProgram& program : programs) rows += program.home_kv_rows - program.home_rows;
  return rows;
}

class PingPong
    : public testing::TestWithParam<std::tuple<int, std::string, Dtype, BackwardInputs>> {};

TEST_P(PingPong, GivesEachRowTheAttentionOfItsWholeDocument) {
  const auto& [ranks, strategy, dtype, inputs] = GetParam();
  int planned = 0;
  int64_t carried = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    Batch batch = random_batch(
        rng, {.ranks = ranks, .max_documents = 6, .max_length = 60, .masks = seed % 2 == 0});
    const std::vector<NanoPlan> plans = nano_plans(strategy, batch, ranks);
    if (plans.empty()) continue;
    ++planned;
    carried += carried_rows(plans);
    RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, seed, dtype);
    run_plans(plans, [&](Rank) -> Segments& { return model; }, {.inputs = inputs});
    for (int layer = 0; layer < kLayers; ++layer) {
      for (size_t document = 0; document < batch.documents.size(); ++document)
        expect_reference(batch, model.layer(layer), document, tolerance_of(dtype));
    }
  }
  EXPECT_GT(planned, 0) << strategy << " refuses every batch";
  if (!find_strategy(strategy).places_tokens) {
    EXPECT_GT(carried, 0) << "no document was cut";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, PingPong,
    testing::Combine(testing::Values(1, 2, 3, 4), testing::ValuesIn(strategy_names()),
                     testing::Values(Dtype::kFloat32, Dtype::kBFloat16),
                     testing::Values(BackwardInputs::kKept, BackwardInputs::kSentAgain)));

// Where the plan of the whole cuts rows as those of the halves do, so that no sum is made of other
// parts, and rows are merged in the same order.
TEST(PingPong, ForwardIsThatOfThePlainScheduleBitForBit) {
  const Batch batch = fill_sequentially(documents_of_lengths({40, 7, 33, 1, 50, 21}), 1, 200);
  RecordedModel plain(batch, kLayers, kHeads, kKvHeads, kHeadDim, 8);
  RecordedModel ping_pong = plain;
  run_plan(plan_with("home", batch, 1), plain);
  const std::vector<NanoPlan> plans = nano_plans("home", batch, 1);
  run_plans(plans, [&](Rank) -> Segments& { return ping_pong; });
  for (int layer = 0; layer < kLayers; ++layer)
    EXPECT_EQ(plain.layer(layer).o.documents, ping_pong.layer(layer).o.documents);
}

}  // namespace
}  // namespace cadenza
