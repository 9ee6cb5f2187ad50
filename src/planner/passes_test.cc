// The strategy table and the passes that strategies share.
#include <gmock/gmock.h>

#include "base/error.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/merge_tasks.h"
#include "planner/range_set.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(StrategyTable, FindsByNameAndSuggestsTheNearest) {
  EXPECT_STREQ(find_strategy("cad").name, "cad");
  EXPECT_STREQ(find_strategy("home").name, "home");
  EXPECT_THAT([] { find_strategy("hone"); },
              ThrowsMessage<ConfigError>(HasSubstr("did you mean 'home'")));
}

TEST(RangeSet, JoinsTouchingRangesAndCountsWhatIsMissing) {
  RangeSet set;
  set.add({0, 10});
  set.add({20, 30});
  set.add({40, 50});
  set.add({10, 20});
  EXPECT_THAT(set.ranges(), ElementsAre(Range{0, 30}, Range{40, 50}));
  EXPECT_EQ(set.missing({25, 45}), 10);
  set.remove({5, 42});
  EXPECT_THAT(set.ranges(), ElementsAre(Range{0, 5}, Range{42, 50}));
  EXPECT_EQ(set.size(), 13);
}

Task causal_task(Range q, Range kv, Rank server) {
  return {.document = 0, .piece = {q, kv, Band::causal()}, .heads = {}, .server = server};
}

TEST(MergeTasks, JoinsOnlyWhatIsOneTaskAgain) {
  const std::vector<Task> merged =
      merge_tasks({causal_task({100, 200}, {0, 200}, 1), causal_task({0, 100}, {0, 100}, 1),
                   causal_task({200, 300}, {0, 50}, 1), causal_task({300, 400}, {0, 400}, 0)});
  EXPECT_THAT(merged,
              ElementsAre(causal_task({0, 200}, {0, 200}, 1), causal_task({200, 300}, {0, 50}, 1),
                          causal_task({300, 400}, {0, 400}, 0)));
}

Plan plan_of(std::vector<Document> documents, std::vector<Task> tasks) {
  return {.strategy = "test",
          .servers = 2,
          .batch = fill_sequentially(std::move(documents), 2, 200),
          .tasks = std::move(tasks)};
}

TEST(CheckCuts, AllowsTilesHomesAndEndsOnly) {
  const auto at = [](int64_t cut) {
    return plan_of(documents_of_lengths({300}),
                   {causal_task({0, cut}, {0, cut}, 0), causal_task({cut, 300}, {0, 300}, 1)});
  };
  EXPECT_NO_THROW(check_cuts(at(128), 128));
  EXPECT_NO_THROW(check_cuts(at(200), 128));  // the boundary of the homes
  EXPECT_NO_THROW(check_cuts(at(150), 50));
  EXPECT_THAT([&] { check_cuts(at(150), 128); }, ThrowsMessage<PlanError>(HasSubstr("got 150")));
}

TEST(CheckCuts, AllowsTheEdgeOfAWindow) {
  std::vector<Document> documents = documents_of_lengths({300});
  documents[0].mask = {.kind = Mask::Kind::kWindow, .window = 10, .explicit_pieces = {}};
  const Band window{-9, 0};
  const Plan natural = plan_of(documents, {{0, {{0, 128}, {0, 128}, window}, {}, 0},
                                           {0, {{128, 300}, {119, 300}, window}, {}, 1}});
  EXPECT_NO_THROW(check_cuts(natural, 128));
  const Plan cut = plan_of(documents, {{0, {{0, 128}, {0, 128}, window}, {}, 0},
                                       {0, {{128, 300}, {125, 300}, window}, {}, 1},
                                       {0, {{128, 134}, {119, 125}, window}, {}, 1}});
  EXPECT_THROW(check_cuts(cut, 128), PlanError);
}

TEST(Balance, WeighsServersBySpeedAndKnowsTheLargestTile) {
  const Plan plan = plan_of(documents_of_lengths({128}), {causal_task({0, 128}, {0, 128}, 0)});
  const PairsCostModel cost;
  const Balance even = balance_of(plan, {.servers = 2, .speeds = {}}, cost);
  EXPECT_DOUBLE_EQ(even.max_over_mean, 2);
  EXPECT_DOUBLE_EQ(even.lower_bound_over_mean, 2);  // one tile cannot be cut
  const Balance fast = balance_of(plan, {.servers = 2, .speeds = {3, 1}}, cost);
  EXPECT_DOUBLE_EQ(fast.max_over_mean, 4.0 / 3);
  EXPECT_DOUBLE_EQ(fast.lower_bound_over_mean, 4.0 / 3);
}

TEST(Balance, OfNothingIsOne) {
  const Plan plan = plan_of(documents_of_lengths({}), {});
  EXPECT_DOUBLE_EQ(balance_of(plan, {.servers = 2, .speeds = {}}, PairsCostModel()).max_over_mean,
                   1);
}

}  // namespace
}  // namespace cadenza
