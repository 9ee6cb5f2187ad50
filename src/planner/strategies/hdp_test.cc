#include "planner/strategies/hdp.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/packed.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;

PlanRequest request_for(const std::vector<int64_t>& lengths, int servers, int64_t capacity) {
  return request_to_place(lengths, servers, capacity, kPairs);
}

// 768K on 96 of 128 ranks and 8K on each of the others: the method's own example.
TEST(Hdp, GivesALongDocumentTheRanksThatItNeedsAndTheOthersOneEach) {
  std::vector<int64_t> lengths(32, 8192);
  lengths.push_back(96 * 8192);
  PlanRequest request = request_for(lengths, 128, 8192);
  request.tolerance = 0.5;  // the long one takes 1.33 of the mean
  const Plan plan = plan_hdp(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_EQ(degree_of(plan, 32), 96);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(degree_of(plan, i), 1);
  EXPECT_THAT(tokens_per_rank(plan), Each(8192));
}

TEST(Hdp, TakesAnyDegree) {
  // Three ranks have room for 30; the short document has the fourth.
  PlanRequest request = request_for({5, 30}, 4, 10);
  request.tolerance = 0.5;
  const Plan plan = plan_hdp(request);
  EXPECT_EQ(degree_of(plan, 1), 3);
  EXPECT_EQ(degree_of(plan, 0), 1);
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(10, 10, 10, 5));
}

TEST(Hdp, SpreadsADocumentThatWouldTakeLongerThanTheMean) {
  // Room for all of it on one rank; but 1000 tokens alone are nearly all of the work.
  PlanRequest request = request_for({1000, 10, 10, 10}, 4, 2000);
  const Plan plan = plan_hdp(request);
  EXPECT_EQ(degree_of(plan, 0), 4);
  EXPECT_LT(balance_of(plan, request.cluster, kPairs).max_over_mean, 1.05);
}

// The rank whose tail ends k eighths before the end needs the keys before it that it does not hold.
TEST(Hdp, MovesThreeQuartersOfTheKeysThatARingWouldMove) {
  const PlanRequest request = request_for({4096}, 4, 1024);
  const Traffic traffic = forward_traffic(plan_hdp(request), request.shape);
  EXPECT_EQ(traffic.kv_bytes, 3 * 3 * 4096 / 4 * request.shape.kv_row_bytes());
  EXPECT_EQ(traffic.q_bytes + traffic.o_bytes, 0);
}

TEST(Hdp, IsPackingWhereEveryDegreeIsOne) {
  // Each longer than half of the capacity, so that packing has no choice but the order of ranks.
  PlanRequest request = request_for({51, 60, 57, 55, 59}, 6, 100);
  request.tolerance = 0.5;
  Plan packed = plan_packed(request);
  packed.strategy = "hdp";
  EXPECT_EQ(plan_hdp(request), packed);
  EXPECT_EQ(forward_traffic(packed, request.shape).total(), 0);
}

TEST(Hdp, HoldsMoreTokensWhereWorkIsLess) {
  // 400² pairs against four times 200²; equal work needs 800 tokens beside 400.
  PlanRequest request = request_for({400, 200, 200, 200, 200}, 2, 800);
  const Plan plan = plan_hdp(request);
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(400, 800));
  EXPECT_EQ(forward_traffic(plan, request.shape).total(), 0);
  // With room for half of the tokens and no more it must cut.
  request.options.capacity = 600;
  const Plan full = plan_hdp(request);
  ASSERT_NO_THROW(verify_plan(full));
  EXPECT_THAT(tokens_per_rank(full), ElementsAre(600, 600));
}

TEST(Hdp, GivesSharesInProportionToSpeeds) {
  PlanRequest request = request_for({7000}, 3, 7000);
  request.cluster.speeds = {1, 4, 2};
  const Plan plan = plan_hdp(request);
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(1000, 4000, 2000));
  EXPECT_LT(balance_of(plan, request.cluster, kPairs).max_over_mean, 1.001);
}

TEST(Hdp, SaysWhatItCannotDo) {
  PlanRequest request = request_for({9, 8}, 2, 8);
  EXPECT_THAT([&] { plan_hdp(request); },
              ThrowsMessage<NeedsCapacity>(HasSubstr("needs capacity 9")));
  request.homes_given = true;
  EXPECT_THAT([&] { plan_hdp(request); },
              ThrowsMessage<NotApplicable>(HasSubstr("leave the homes out")));
}

// Both halves of a ping-pong batch must find their tokens in the same places.
TEST(Hdp, PlacesTheSameWhicheverQueriesThePlanCovers) {
  PlanRequest request = request_for({300, 40, 41, 1}, 3, 150);
  const Plan all = plan_hdp(request);
  request.documents[0].queries = {200, 300};
  request.documents[2].queries = {0, 0};
  const Plan half = plan_hdp(request);
  ASSERT_NO_THROW(verify_plan(half));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(all.batch.documents[i].shards, half.batch.documents[i].shards);
}

}  // namespace
}  // namespace cadenza
