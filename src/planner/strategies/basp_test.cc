#include "planner/strategies/basp.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/packed.h"
#include "planner/strategies/ulysses.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;

/// By document: the servers that compute it.
std::vector<std::vector<Rank>> servers_of(const Plan& plan) {
  std::vector<std::vector<Rank>> servers(plan.batch.documents.size());
  for (const Task& task : plan.tasks)
    servers[static_cast<size_t>(task.document)].push_back(task.server);
  return servers;
}

TEST(Basp, OfOneDocumentIsUlysses) {
  const PlanRequest request = request_to_place({60}, 5, 12, kPairs);
  const Plan basp = plan_basp(request);
  const Plan ulysses = plan_ulysses(request);
  EXPECT_EQ(basp.batch, ulysses.batch);
  EXPECT_EQ(basp.tasks, ulysses.tasks);
}

TEST(Basp, OfDocumentsThatFillARankEachIsPacked) {
  const PlanRequest request = request_to_place({9, 9, 9, 9}, 4, 9, kPairs);
  const Plan basp = plan_basp(request);
  const Plan packed = plan_packed(request);
  EXPECT_EQ(basp.batch, packed.batch);
  EXPECT_EQ(basp.tasks, packed.tasks);
}

// The method's own case: B sequences, groups of N / B ranks; with room to spare, too.
TEST(Basp, GivesEqualSequencesEqualGroups) {
  for (const int64_t capacity : {10, 40}) {
    PlanRequest request = request_to_place({20, 20, 20, 20}, 8, capacity, kPairs);
    request.shape = {.heads = 4, .kv_heads = 4, .head_dim = 8};
    const Plan plan = plan_basp(request);
    ASSERT_NO_THROW(verify_plan(plan));
    EXPECT_THAT(servers_of(plan), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3),
                                              ElementsAre(4, 5), ElementsAre(6, 7)));
    EXPECT_THAT(tokens_per_rank(plan), Each(10));
    // Half of each row goes to the other rank of its group, and half of its output comes back.
    const Traffic traffic = forward_traffic(plan, request.shape);
    EXPECT_EQ(traffic.q_bytes, 80 * request.shape.q_row_bytes() / 2);
    EXPECT_EQ(traffic.kv_bytes, 80 * request.shape.kv_row_bytes() / 2);
  }
}

TEST(Basp, TakesUnequalGroups) {
  const Plan plan = plan_basp(request_to_place({4, 31, 6, 19}, 6, 11, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  // 31 needs three ranks at 11 a rank; 19 two; 6 and 4 share one.
  EXPECT_THAT(servers_of(plan),
              ElementsAre(ElementsAre(5), ElementsAre(0, 1, 2), ElementsAre(5), ElementsAre(3, 4)));
}

TEST(Basp, SaysWhichCapacityWouldDo) {
  EXPECT_THAT(
      [] {
        plan_basp(request_to_place({4, 31, 6, 19}, 6, 10, kPairs));
      },
      ThrowsMessage<NeedsCapacity>(HasSubstr("needs capacity 11")));
}

}  // namespace
}  // namespace cadenza
