#include "planner/strategies/ring.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

const PairsCostModel kPairs;

PlanRequest request_for(const std::vector<int64_t>& lengths, int servers) {
  int64_t tokens = 0;
  for (const int64_t length : lengths) tokens += length;
  return request_to_place(lengths, servers, (tokens + servers - 1) / servers, kPairs);
}

Task key_task(Range q, Range kv, Rank server, int round, Rank via) {
  return {0, {q, kv, Band::causal()}, {}, server, round, via};
}

// Rank 0 has tokens 0 and 5, rank 1 has 1 and 4, rank 2 has 2 and 3.
TEST(Ring, OfSixTokensOnThreeRanksByHand) {
  const Plan plan = plan_ring(request_for({6}, 3));
  EXPECT_THAT(plan.batch.documents[0].shards,
              ElementsAre(Shard{{0, 1}, 0}, Shard{{1, 2}, 1}, Shard{{2, 4}, 2}, Shard{{4, 5}, 1},
                          Shard{{5, 6}, 0}));
  constexpr Rank kHome = Task::kHome;
  EXPECT_THAT(plan.tasks,
              UnorderedElementsAre(
                  // Round 0: own keys.
                  key_task({0, 1}, {0, 1}, 0, 0, kHome), key_task({5, 6}, {0, 1}, 0, 0, kHome),
                  key_task({5, 6}, {5, 6}, 0, 0, kHome), key_task({1, 2}, {1, 2}, 1, 0, kHome),
                  key_task({4, 5}, {1, 2}, 1, 0, kHome), key_task({4, 5}, {4, 5}, 1, 0, kHome),
                  key_task({2, 4}, {2, 4}, 2, 0, kHome),
                  // Round 1: the neighbour's own.
                  key_task({1, 2}, {0, 1}, 1, 1, kHome), key_task({4, 5}, {0, 1}, 1, 1, kHome),
                  key_task({2, 4}, {1, 2}, 2, 1, kHome), key_task({5, 6}, {2, 4}, 0, 1, kHome),
                  // Round 2: what the neighbour got in round 1; rank 2 did not need token 4.
                  key_task({2, 4}, {0, 1}, 2, 2, 1), key_task({5, 6}, {1, 2}, 0, 2, 2),
                  key_task({5, 6}, {4, 5}, 0, 2, kHome), key_task({4, 5}, {2, 4}, 1, 2, 0)));
}

TEST(Ring, PassesEveryRowFromNeighbourToNeighbourWhereAllNeedIt) {
  PlanRequest request = request_for({100}, 5);
  request.documents[0].mask.kind = Mask::Kind::kFull;
  const Plan plan = plan_ring(request);
  for (const Task& task : plan.tasks) {
    EXPECT_EQ(task.via, task.round < 2 ? Task::kHome : (task.server + 4) % 5);
  }
}

// Of n ranks each gets the keys of n - 1 others: (n - 1) · length rows in all. Under a causal mask
// head pieces go to all, but the tail piece of rank j only to ranks i < j: 3/4 of it.
TEST(Ring, MovesWhatTheFormulasSay) {
  constexpr int64_t kLength = 1680;
  for (const int ranks : {1, 2, 3, 5, 7, 8}) {
    if (kLength % (2 * ranks) != 0) continue;
    PlanRequest request = request_for({kLength}, ranks);
    const int64_t all = (ranks - 1) * kLength * request.shape.kv_row_bytes();
    const Traffic causal = forward_traffic(plan_ring(request), request.shape);
    EXPECT_EQ(causal.kv_bytes, all * 3 / 4) << ranks;
    EXPECT_EQ(causal.q_bytes + causal.o_bytes, 0);
    request.documents[0].mask.kind = Mask::Kind::kFull;
    EXPECT_EQ(forward_traffic(plan_ring(request), request.shape).kv_bytes, all) << ranks;
  }
}

TEST(Ring, IsExactlyBalancedOnOneCausalDocumentThatDivides) {
  const std::vector<int64_t> pairs = pairs_per_server(plan_ring(request_for({2 * 6 * 11}, 6)));
  EXPECT_THAT(pairs, Each(132 * 133 / 2 / 6));
}

// Lengths that others round down or refuse, on any number of ranks, and fewer tokens than ranks.
TEST(Ring, TakesEveryTokenOfOddLengths) {
  for (const int servers : {1, 2, 3, 4, 7, 40}) {
    const Plan plan = plan_ring(request_for({16385, 4097, 255, 1, 2, 3}, servers));
    EXPECT_NO_THROW(verify_plan(plan));
    int64_t pairs = 0;
    for (const int64_t p : pairs_per_server(plan)) pairs += p;
    EXPECT_EQ(pairs, 142'669'708);
    EXPECT_NO_THROW(verify_plan(plan_ring(request_for({1, 1}, servers))));
  }
}

TEST(Ring, KeepsShortDocumentsApart) {
  // Chunks of 2: no document crosses a rank, nothing is sent.
  const PlanRequest request = request_for({2, 2, 2, 2}, 2);
  const Plan plan = plan_ring(request);
  EXPECT_EQ(forward_traffic(plan, request.shape).total(), 0);
  EXPECT_THAT(pairs_per_server(plan), Each(6));
}

}  // namespace
}  // namespace cadenza
