#include "planner/strategies/hsap.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/sap.h"
#include "planner/strategies/ulysses.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;

PlanRequest request_for(int servers_per_node) {
  PlanRequest request = request_to_place({50, 1, 31, 14}, 8, 12, kPairs);
  request.cluster.servers_per_node = servers_per_node;
  request.shape = {.heads = 8, .kv_heads = 4, .head_dim = 8};
  return request;
}

TEST(Hsap, OfOneNodeIsUlysses) {
  EXPECT_EQ(plan_hsap(request_for(8)).tasks, plan_ulysses(request_for(8)).tasks);
}

TEST(Hsap, OfNodesOfOneServerIsSap) {
  EXPECT_EQ(plan_hsap(request_for(1)).tasks, plan_sap(request_for(1)).tasks);
}

TEST(Hsap, TakesNodesOfUnequalSize) {
  const Plan plan = plan_hsap(request_for(3));
  ASSERT_NO_THROW(verify_plan(plan));
  for (const Task& task : plan.tasks)
    EXPECT_EQ(task.heads.size(), task.server >= 6 || task.server % 3 == 2 ? 4 : 2);
}

// One document, 12 tokens a rank, two nodes of four: the second node reads the keys of the first,
// a quarter of the heads at each of its servers. Between nodes that is one copy of 48 rows.
TEST(Hsap, BringsAKeyRowToANodeOnce) {
  PlanRequest request = request_for(4);
  request.documents = documents_of_lengths({96});
  const Plan plan = plan_hsap(request);
  ASSERT_NO_THROW(verify_plan(plan));
  const int64_t inside_nodes = 96 * request.shape.kv_row_bytes() * 3 / 4;
  EXPECT_EQ(forward_traffic(plan, request.shape).kv_bytes,
            inside_nodes + 48 * request.shape.kv_row_bytes());
}

TEST(Hsap, SaysThatItNeedsNodes) {
  EXPECT_THAT([] { plan_hsap(request_for(0)); },
              ThrowsMessage<NotApplicable>(HasSubstr("number of servers in a node")));
}

}  // namespace
}  // namespace cadenza
