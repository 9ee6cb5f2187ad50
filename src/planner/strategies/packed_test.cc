#include "planner/strategies/packed.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"

namespace cadenza {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;

std::vector<Rank> ranks_of(const Plan& plan) {
  std::vector<Rank> ranks;
  for (const Document& document : plan.batch.documents) {
    EXPECT_EQ(document.shards.size(), 1u);
    ranks.push_back(document.shards.at(0).home);
  }
  return ranks;
}

TEST(Packed, PutsDocumentsWhereTheLeastRoomIsLeft) {
  // 7 to rank 0, 6 to rank 1; 3 exactly fills rank 0, 2 and 2 rank 1; then rank 2.
  const PlanRequest request = request_to_place({2, 3, 6, 7, 2, 1}, 3, 10, kPairs);
  const Plan plan = plan_packed(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(ranks_of(plan), ElementsAre(1, 0, 1, 0, 1, 2));
  EXPECT_EQ(forward_traffic(plan, request.shape).total(), 0);
}

TEST(Packed, SaysWhichCapacityWouldDo) {
  const PlanRequest request = request_to_place({9, 5, 5, 5}, 2, 12, kPairs);
  EXPECT_THAT([&] { plan_packed(request); },
              ThrowsMessage<NeedsCapacity>(HasSubstr("needs capacity 14")));
  PlanRequest enough = request;
  enough.options.capacity = 14;
  EXPECT_THAT(ranks_of(plan_packed(enough)), ElementsAre(0, 0, 1, 1));
}

TEST(Packed, RefusesToMoveTokens) {
  PlanRequest request = request_to_place({4}, 2, 4, kPairs);
  request.homes_given = true;
  request.documents[0].shards = {{{0, 4}, 1}};
  EXPECT_THAT([&] { plan_packed(request); },
              ThrowsMessage<NotApplicable>(HasSubstr("leave the homes out")));
}

}  // namespace
}  // namespace cadenza
