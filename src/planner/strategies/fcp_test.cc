#include "planner/strategies/fcp.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/rng.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/fcp_degrees.h"
#include "planner/strategies/fcp_groups.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

const PairsCostModel kPairs;

TEST(AtomicGroups, AreBestFitDecreasing) {
  const AtomicGroups packed =
      pack_atomic_groups(documents_of_lengths({3, 25, 7, 6, 4, 2, 5}), 6, 10);
  EXPECT_TRUE(packed.left_over.empty());
  ASSERT_EQ(packed.groups.size(), 4u);
  EXPECT_THAT(packed.groups[0].documents, ElementsAre(1, 6));  // 25 + 5 on three ranks
  EXPECT_EQ(packed.groups[0].least_ranks, 3);
  EXPECT_THAT(packed.groups[1].documents, ElementsAre(2, 0));  // 7 + 3
  EXPECT_THAT(packed.groups[2].documents, ElementsAre(3, 4));  // 6 + 4
  EXPECT_EQ(packed.groups[2].tokens, 10);
  EXPECT_THAT(packed.groups[3].documents, ElementsAre(5));  // the 2, on the last rank
}

TEST(AtomicGroups, LeaveOverWhatFitsNowhere) {
  const AtomicGroups packed = pack_atomic_groups(documents_of_lengths({6, 6, 6, 2}), 2, 10);
  EXPECT_EQ(packed.groups.size(), 2u);
  EXPECT_THAT(packed.left_over, ElementsAre(2));
}

/// Every way to give at most all ranks to the groups in order.
double least_makespan_by_trying(const std::vector<GroupWork>& groups,
                                const std::vector<double>& speeds, size_t group, size_t first) {
  if (group == groups.size()) return 0;
  double best = std::numeric_limits<double>::infinity(), speed = 0;
  for (size_t end = first; end < speeds.size(); ++end) {
    speed += speeds[end];
    if (end + 1 - first < static_cast<size_t>(groups[group].least_ranks)) continue;
    best = std::min(best, std::max(groups[group].cost / speed,
                                   least_makespan_by_trying(groups, speeds, group + 1, end + 1)));
  }
  return best;
}

TEST(LeastMakespanDegrees, AreTheBestOfAll) {
  Rng rng(17);
  for (int i = 0; i < 500; ++i) {
    std::vector<GroupWork> groups(1 + uniform_below(rng, 4));
    int ranks = 0;
    for (GroupWork& group : groups) {
      group.cost = static_cast<double>(uniform_below(rng, 50));
      group.least_ranks = static_cast<int>(uniform_between(rng, 1, 2));
      ranks += group.least_ranks;
    }
    ranks += static_cast<int>(uniform_below(rng, 4));
    std::vector<double> speeds(static_cast<size_t>(ranks), 1.0);
    if (i % 2 == 1) {
      for (double& speed : speeds) speed = static_cast<double>(uniform_between(rng, 1, 16)) / 4;
    }
    const std::vector<int> degrees = least_makespan_degrees(groups, speeds);
    size_t first = 0;
    double makespan = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      EXPECT_GE(degrees[g], groups[g].least_ranks);
      double speed = 0;
      for (int d = 0; d < degrees[g]; ++d) speed += speeds.at(first++);
      makespan = std::max(makespan, groups[g].cost / speed);
    }
    EXPECT_DOUBLE_EQ(makespan, least_makespan_by_trying(groups, speeds, 0, 0)) << "seed 17, " << i;
  }
}

TEST(LeastMakespanDegrees, TakeNoRankThatDoesNotHelp) {
  const std::vector<GroupWork> groups = {{10, 1}, {40, 1}, {0, 1}};
  EXPECT_THAT(least_makespan_degrees(groups, std::vector<double>(7, 1.0)), ElementsAre(1, 4, 1));
  EXPECT_THAT(least_makespan_degrees(std::vector<GroupWork>{{0, 1}}, std::vector<double>(7, 1.0)),
              ElementsAre(1));
}

TEST(Fcp, GivesGroupsAnyNumberOfRanks) {
  // Pairs of 1200 : 850 : 700 are as 4 : 2 : 1.36.
  PlanRequest request = request_to_place({1200, 850, 700}, 7, 1200, kPairs);
  const Plan plan = plan_fcp(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_EQ(degree_of(plan, 0), 3);
  EXPECT_EQ(degree_of(plan, 1), 2);
  EXPECT_EQ(degree_of(plan, 2), 2);
}

TEST(Fcp, SpreadsTheTokensOfAGroupEvenlyOverItsRanks) {
  // One group of 100 tokens in all, in documents that three ranks do not divide.
  const Plan plan = plan_fcp(request_to_place({40, 31, 22, 4, 1, 1, 1}, 3, 100, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  std::vector<int64_t> tokens = tokens_per_rank(plan);
  std::sort(tokens.begin(), tokens.end());
  EXPECT_THAT(tokens, ElementsAre(33, 33, 34));
}

TEST(Fcp, CutsWhatIsLeftOverToTheRoomThereIs) {
  const Plan plan = plan_fcp(request_to_place({6, 6, 6, 2}, 2, 10, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(tokens_per_rank(plan), Each(10));
  EXPECT_EQ(degree_of(plan, 2), 2);
}

TEST(Fcp, CountsRanksBySpeed) {
  PlanRequest request = request_to_place({3000, 3000}, 5, 3000, kPairs);
  request.cluster.speeds = {1, 1, 1, 1, 4};
  const Plan plan = plan_fcp(request);
  EXPECT_EQ(degree_of(plan, 0), 4);
  EXPECT_EQ(degree_of(plan, 1), 1);
  EXPECT_LT(balance_of(plan, request.cluster, kPairs).max_over_mean, 1.01);
}

TEST(Fcp, KeepsToTheCapacity) {
  PlanRequest request = request_to_place({97, 50, 33, 21, 5, 1}, 6, 40, kPairs);
  EXPECT_THAT(tokens_per_rank(plan_fcp(request)), Each(Le(40)));
  request.options.capacity = 34;
  EXPECT_THROW(plan_fcp(request), NeedsCapacity);  // 207 tokens on 6 ranks: 35
}

}  // namespace
}  // namespace cadenza
