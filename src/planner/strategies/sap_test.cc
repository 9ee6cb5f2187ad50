#include "planner/strategies/sap.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/home.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::UnorderedElementsAre;

const PairsCostModel kPairs;

Task part(int document, Range q, Range kv, Rank server, int round) {
  return {document, {q, kv, Band::causal()}, {}, server, round, Task::kHome};
}

// Three tokens a rank: 0 | 0 0 0, 1 | 0 0 1, 2 | 1 1 1, 3 | 1 1 2.
TEST(Sap, OfThreePackedDocumentsByHand) {
  const Plan plan = plan_sap(request_to_place({5, 6, 1}, 4, 3, kPairs));
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_THAT(plan.tasks,
              UnorderedElementsAre(
                  part(0, {0, 3}, {0, 3}, 0, 0), part(0, {3, 5}, {3, 5}, 1, 0),
                  part(1, {0, 1}, {0, 1}, 1, 0), part(1, {1, 4}, {1, 4}, 2, 0),
                  part(1, {4, 6}, {4, 6}, 3, 0), part(2, {0, 1}, {0, 1}, 3, 0),
                  part(0, {3, 5}, {0, 3}, 1, 1),  // rank 1 gets the first document from rank 0
                  part(1, {1, 4}, {0, 1}, 2, 1),  // rank 2 the second from rank 1
                  part(1, {4, 6}, {1, 4}, 3, 1),  // rank 3 from rank 2, then from rank 1
                  part(1, {4, 6}, {0, 1}, 3, 2)));
}

TEST(Sap, MovesNoMoreThanMasksNeed) {
  PlanRequest request = request_to_place({40}, 4, 10, kPairs);
  request.documents[0].mask = {.kind = Mask::Kind::kWindow, .window = 4, .explicit_pieces = {}};
  const Plan plan = plan_sap(request);
  ASSERT_NO_THROW(verify_plan(plan));
  // Three boundaries, three keys across each, from the neighbour.
  EXPECT_EQ(forward_traffic(plan, request.shape).kv_bytes, 9 * request.shape.kv_row_bytes());
  for (const Task& task : plan.tasks) EXPECT_LE(task.round, 1);
}

TEST(Sap, MovesAsManyBytesAsHomeAndComputesAsMuch) {
  const PlanRequest request = request_to_place({100, 7, 1, 33}, 5, 30, kPairs);
  const Plan sap = plan_sap(request);
  const Plan home = plan_home(request);
  EXPECT_EQ(forward_traffic(sap, request.shape).recv_bytes_per_server,
            forward_traffic(home, request.shape).recv_bytes_per_server);
  EXPECT_EQ(pairs_per_server(sap), pairs_per_server(home));
}

}  // namespace
}  // namespace cadenza
