#include "planner/strategies/two_level_ring.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/strategies/ring.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;

PlanRequest request_for(int servers, int servers_per_node) {
  PlanRequest request = request_to_place({158}, servers, 158, kPairs);
  request.documents[0].mask.kind = Mask::Kind::kFull;
  request.cluster.servers_per_node = servers_per_node;
  return request;
}

Rank home_of(const Document& document, int64_t row) {
  for (const Shard& shard : document.shards)
    if (shard.rows.contains(row)) return shard.home;
  return -1;
}

TEST(TwoLevelRing, OfOneNodeIsRing) {
  EXPECT_EQ(plan_two_level_ring(request_for(6, 6)).tasks, plan_ring(request_for(6, 6)).tasks);
}

TEST(TwoLevelRing, BringsEachKeyRowToANodeOnce) {
  for (const auto& [servers, per_node] : {std::pair{8, 4}, {6, 2}, {7, 3}, {5, 1}, {10, 4}}) {
    SCOPED_TRACE(testing::Message() << servers << " servers, " << per_node << " a node");
    const PlanRequest request = request_for(servers, per_node);
    const Cluster& cluster = request.cluster;
    const Plan plan = plan_two_level_ring(request);
    ASSERT_NO_THROW(verify_plan(plan));
    std::set<std::pair<int64_t, Rank>> arrived;  // (row, server)
    std::set<std::pair<int64_t, int>> crossed;   // (row, node)
    for (const Task& task : plan.tasks) {
      for (int64_t row = task.piece.kv.begin; row < task.piece.kv.end; ++row) {
        const Rank home = home_of(plan.batch.documents[0], row);
        if (home == task.server || !arrived.insert({row, task.server}).second) continue;
        const Rank source = task.via == Task::kHome ? home : task.via;
        if (cluster.near(source, task.server)) continue;
        EXPECT_TRUE(crossed.insert({row, cluster.node_of(task.server)}).second)
            << "row " << row << " comes twice";
      }
    }
    const int nodes = cluster.node_of(servers - 1) + 1;
    EXPECT_EQ(crossed.size(), static_cast<size_t>(158 * (nodes - 1)));
  }
}

// Two nodes of two: in rounds 2 and 3 the shards of the other node enter in place, then go round.
TEST(TwoLevelRing, GoesRoundInsideAndBetweenNodes) {
  for (const Task& task : plan_two_level_ring(request_for(4, 2)).tasks) {
    if (task.round == 3) {
      EXPECT_EQ(task.via, task.server ^ 1);
    } else {
      EXPECT_EQ(task.via, Task::kHome);
    }
  }
}

TEST(TwoLevelRing, SaysThatItNeedsNodes) {
  EXPECT_THAT([] { plan_two_level_ring(request_for(4, 0)); },
              ThrowsMessage<NotApplicable>(HasSubstr("number of servers in a node")));
}

}  // namespace
}  // namespace cadenza
