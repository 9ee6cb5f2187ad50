#include "planner/strategies/wlb.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/placement_request_test.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

const PairsCostModel kPairs;

PlanRequest request_for(const std::vector<int64_t>& lengths, int servers, int64_t capacity) {
  return request_to_place(lengths, servers, capacity, kPairs);
}

TEST(Wlb, PacksToEqualWorkNotToEqualTokens) {
  PlanRequest request = request_for({400, 200, 200, 200, 200}, 2, 800);
  const Plan plan = plan_wlb(request);
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(400, 800));
  EXPECT_EQ(forward_traffic(plan, request.shape).total(), 0);
  EXPECT_LT(balance_of(plan, request.cluster, kPairs).max_over_mean, 1.01);
}

// ceil(total / capacity) ranks are not always enough for whole documents: eight of seven tokens
// need eight ranks of eight. On seven ranks one is cut, and no rank is overfilled to avoid it.
TEST(Wlb, NeverOverfillsARankToBeEven) {
  const std::vector<int64_t> lengths(8, 7);
  const Plan eight = plan_wlb(request_for(lengths, 8, 8));
  EXPECT_THAT(tokens_per_rank(eight), Each(7));
  const Plan seven = plan_wlb(request_for(lengths, 7, 8));
  ASSERT_NO_THROW(verify_plan(seven));
  EXPECT_THAT(tokens_per_rank(seven), Each(8));
  EXPECT_EQ(degree_of(seven, 7), 7);
  const Plan sixteen = plan_wlb(request_for(std::vector<int64_t>(16, 30720), 16, 32768));
  EXPECT_THAT(tokens_per_rank(sixteen), Each(30720));
}

TEST(Wlb, CutsADocumentLongerThanTheCapacityAndKeepsTheOthersWhole) {
  PlanRequest request = request_for({9, 3, 3}, 2, 8);
  const Plan plan = plan_wlb(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_EQ(degree_of(plan, 0), 2);
  EXPECT_EQ(degree_of(plan, 1), 1);
  EXPECT_EQ(degree_of(plan, 2), 1);
  EXPECT_THAT(tokens_per_rank(plan), Each(Le(8)));
}

TEST(Wlb, FillsRanksToTheLastTokenOfRoom) {
  const Plan plan = plan_wlb(request_for({5, 5, 5, 1}, 4, 4));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(tokens_per_rank(plan), Each(4));
}

TEST(Wlb, LeavesRanksEmptyRatherThanFillThem) {
  const Plan plan = plan_wlb(request_for({5}, 4, 5));
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(5, 0, 0, 0));
  EXPECT_EQ(plan.tasks.size(), 1u);
}

TEST(Wlb, UsesEveryDocumentOnce) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 206; ++i) lengths.push_back(1 + i % 13);
  const Plan plan = plan_wlb(request_for(lengths, 4, 400));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_EQ(plan.batch.documents.size(), 206u);
}

TEST(Wlb, GivesFastRanksMoreWork) {
  PlanRequest request = request_for(std::vector<int64_t>(60, 100), 2, 6000);
  request.cluster.speeds = {1, 3};
  EXPECT_THAT(tokens_per_rank(plan_wlb(request)), ElementsAre(1500, 4500));
}

/// Each task has a price besides its pairs.
class LaunchCost final : public CostModel {
 public:
  const char* name() const override { return "launch"; }
  double task_cost(const Piece& piece) const override {
    const auto pairs = static_cast<double>(count_pairs(piece));
    return pairs > 0 ? pairs + 1000 : 0;
  }
};

TEST(Wlb, WorkIsWhatTheCostModelSays) {
  std::vector<int64_t> lengths(40, 10);
  lengths.push_back(200);
  const LaunchCost cost;
  const Plan plan = plan_wlb(request_to_place(lengths, 2, 600, cost));
  // 21100 for the long one and 1055 for each short one: ten of them join it.
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(300, 300));
  const Plan by_pairs = plan_wlb(request_for(lengths, 2, 600));
  EXPECT_THAT(tokens_per_rank(by_pairs), ElementsAre(200, 400));
}

}  // namespace
}  // namespace cadenza
