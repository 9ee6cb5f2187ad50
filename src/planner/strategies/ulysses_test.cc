#include "planner/strategies/ulysses.h"

#include <gmock/gmock.h>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/split_heads.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;

const PairsCostModel kPairs;

std::vector<Range> heads_of(const Plan& plan) {
  std::vector<Range> heads;
  for (const Task& task : plan.tasks) heads.push_back(task.heads);
  return heads;
}

Plan plan_with(ModelShape shape, int servers) {
  PlanRequest request = request_to_place({12}, servers, 12, kPairs);
  request.shape = shape;
  Plan plan = plan_ulysses(request);
  EXPECT_NO_THROW(verify_plan(plan));
  return plan;
}

TEST(Ulysses, GivesEveryServerAllRowsOfItsHeads) {
  const Plan plan = plan_with({.heads = 8, .kv_heads = 4}, 4);
  EXPECT_THAT(heads_of(plan), ElementsAre(Range{0, 2}, Range{2, 4}, Range{4, 6}, Range{6, 8}));
  for (const Task& task : plan.tasks) EXPECT_EQ(task.piece.q, (Range{0, 12}));
}

TEST(Ulysses, CutsBetweenKvHeadsWhereThereAreEnough) {
  EXPECT_THAT(heads_of(plan_with({.heads = 8, .kv_heads = 4}, 3)),
              ElementsAre(Range{0, 2}, Range{2, 4}, Range{4, 8}));
}

TEST(Ulysses, SharesKvHeadsWhereThereAreFewer) {
  EXPECT_THAT(heads_of(plan_with({.heads = 6, .kv_heads = 2}, 4)),
              ElementsAre(Range{0, 1}, Range{1, 3}, Range{3, 4}, Range{4, 6}));
}

TEST(Ulysses, LeavesServersPastTheHeadsIdle) {
  EXPECT_THAT(pairs_per_server(plan_with({.heads = 2, .kv_heads = 2}, 3)),
              testing::UnorderedElementsAre(0, 39, 39));
}

TEST(Ulysses, OfOneServerHasAllHeads) {
  EXPECT_THAT(heads_of(plan_with({.heads = 2, .kv_heads = 2}, 1)), ElementsAre(Range{}));
}

// Of each row (n - 1) / n leaves its home, and so much of its output comes back.
TEST(Ulysses, MovesWhatTheFormulaSays) {
  PlanRequest request = request_to_place({100, 3, 41}, 4, 36, kPairs);
  request.shape = {.heads = 16, .kv_heads = 4, .head_dim = 8};
  const Plan plan = plan_ulysses(request);
  const Traffic traffic = forward_traffic(plan, request.shape);
  EXPECT_EQ(traffic.q_bytes, 144 * request.shape.q_row_bytes() * 3 / 4);
  EXPECT_EQ(traffic.o_bytes, traffic.q_bytes);
  EXPECT_EQ(traffic.kv_bytes, 144 * request.shape.kv_row_bytes() * 3 / 4);
  EXPECT_THAT(pairs_per_server(plan), Each(count_pairs(plan.batch) / 4));
}

TEST(HeadRange, TilesTheHeads) {
  for (const int64_t kv_heads : {1, 2, 5}) {
    const ModelShape shape{.heads = 10, .kv_heads = kv_heads, .head_dim = 1};
    for (int parts = 1; parts <= 13; ++parts) {
      int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const Range heads = head_range(shape, part, parts);
        EXPECT_EQ(heads.begin, next);
        next = heads.end;
      }
      EXPECT_EQ(next, 10);
    }
  }
}

}  // namespace
}  // namespace cadenza
