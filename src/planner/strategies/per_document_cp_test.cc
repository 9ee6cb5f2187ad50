#include "planner/strategies/per_document_cp.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;

const PairsCostModel kPairs;

TEST(PerDocumentCp, IsExactlyBalancedWhereLengthsDivide) {
  const PlanRequest request = request_to_place({80, 8, 8 * 37, 16}, 4, 100, kPairs);
  const Plan plan = plan_per_document_cp(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(tokens_per_rank(plan), Each(100));
  EXPECT_THAT(pairs_per_server(plan), Each(count_pairs(plan.batch) / 4));
}

// Seven tokens on two ranks are seven, not six.
TEST(PerDocumentCp, PlacesEveryTokenOfAnOddLength) {
  const Plan plan = plan_per_document_cp(request_to_place({7}, 2, 4, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(tokens_per_rank(plan), ElementsAre(4, 3));
}

TEST(PerDocumentCp, DealsWhatDoesNotDivideToAllRanksInTurn) {
  const std::vector<int64_t> lengths(20, 3);  // shorter than there are ranks
  const Plan plan = plan_per_document_cp(request_to_place(lengths, 5, 12, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(tokens_per_rank(plan), Each(12));
}

TEST(PerDocumentCp, StaysNearBalanceOnOddLengths) {
  for (const int servers : {1, 2, 3, 4, 7}) {
    const PlanRequest request =
        request_to_place({16385, 4097, 255, 1, 2, 3}, servers, 20744, kPairs);
    const Plan plan = plan_per_document_cp(request);
    ASSERT_NO_THROW(verify_plan(plan));
    for (const int64_t pairs : pairs_per_server(plan)) {
      // A token more or less of each document has at most as many keys as it is long.
      EXPECT_NEAR(static_cast<double>(pairs), 142'669'708.0 / servers, 20743);
    }
  }
}

// Every head piece goes to all ranks, the tail piece of rank j to ranks i < j: in one round.
TEST(PerDocumentCp, MovesWhatTheFormulaSays) {
  const PlanRequest request = request_to_place({80, 160}, 4, 60, kPairs);
  const Plan plan = plan_per_document_cp(request);
  const Traffic traffic = forward_traffic(plan, request.shape);
  EXPECT_EQ(traffic.kv_bytes, 3 * 240 * request.shape.kv_row_bytes() * 3 / 4);
  EXPECT_EQ(traffic.q_bytes + traffic.o_bytes, 0);
  for (const Task& task : plan.tasks) EXPECT_EQ(task.round, 0);
}

}  // namespace
}  // namespace cadenza
