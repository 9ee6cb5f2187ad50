#include "core/arrivals.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "core/row_set.h"
#include "core/verify_plan.h"

namespace cadenza {
namespace {

using testing::ElementsAre;

/// Three servers with 4 rows each of one causal document of 12; every query at home, keys of rank s
/// at rank r in round r - s.
Plan ring() {
  Plan plan{.strategy = "by hand",
            .servers = 3,
            .batch = fill_sequentially(documents_of_lengths({12}), 3, 4),
            .tasks = {}};
  for (int q = 0; q < 3; ++q) {
    for (int kv = 0; kv <= q; ++kv) {
      plan.tasks.push_back({.document = 0,
                            .piece = {{4 * q, 4 * q + 4}, {4 * kv, 4 * kv + 4}, Band::causal()},
                            .server = q,
                            .round = q - kv});
    }
  }
  return plan;
}

TEST(Arrivals, ComeFromHomeOrFromTheRelayInTheRoundOfTheFirstTask) {
  Plan plan = ring();
  plan.tasks[3].via = 1;  // server 2, keys of rank 0, round 2: server 1 has had them since round 1
  verify_plan(plan);
  const auto servers = arrivals_of(plan, 1, 1);
  EXPECT_TRUE(servers[0].kv.empty());
  EXPECT_THAT(servers[1].kv, ElementsAre(Arrival{0, {0, 4}, {0, 1}, 1, 0}));
  EXPECT_THAT(servers[2].kv,
              ElementsAre(Arrival{0, {4, 8}, {0, 1}, 1, 1}, Arrival{0, {0, 4}, {0, 1}, 2, 1}));
  EXPECT_TRUE(servers[2].q.empty());
}

TEST(Arrivals, ComeOnceHoweverManyTasksReadThem) {
  Plan plan = ring();
  plan.tasks[3].round = 0;  // server 2 gets keys of rank 0 at once ...
  plan.tasks.push_back({.document = 0, .piece = {{11, 12}, {0, 4}, Band::causal()}, .server = 2});
  plan.tasks[3].piece.q = {8, 11};
  plan.tasks.back().round = 5;  // ... and reads them again much later
  verify_plan(plan);
  EXPECT_EQ(arrivals_of(plan, 1, 1)[2].kv.size(), 2u);
}

TEST(Arrivals, RefuseRelaysThatDoNotHoldTheRowsYet) {
  Plan never = ring();
  never.tasks[3].via = 1;
  never.tasks[1].server = 0;  // server 1 does not read keys of rank 0 any more
  EXPECT_THROW(verify_plan(never), PlanError);
  Plan in_same_round = ring();
  in_same_round.tasks[3].via = 1;
  in_same_round.tasks[3].round = 1;
  EXPECT_THROW(verify_plan(in_same_round), PlanError);
  Plan in_part = ring();
  in_part.tasks[3].via = 1;
  in_part.tasks[1].piece.kv = {0, 3};
  in_part.tasks.push_back({.document = 0, .piece = {{4, 8}, {3, 4}, Band::causal()}, .server = 0});
  try {
    verify_plan(in_part);
    FAIL();
  } catch (const PlanError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("document 0"), testing::HasSubstr("server 1"),
                               testing::HasSubstr("rows [0, 4)"), testing::HasSubstr("round 2")));
  }
}

TEST(Arrivals, CountHeadsOfTheirOwn) {
  Plan plan = ring();
  plan.tasks[1].heads = {0, 2};  // server 1 gets keys of rank 0 for two heads of four ...
  plan.tasks.push_back(plan.tasks[1]);
  plan.tasks.back().heads = {2, 4};
  plan.tasks.back().server = 0;
  for (Task& task : plan.tasks) {
    if (task.heads.empty()) task.heads = {0, 4};
  }
  plan.tasks[3].via = 1;  // ... and server 2 wants all four of it
  EXPECT_THROW(verify_plan(plan), PlanError);
  plan.tasks[3].heads = {0, 2};
  plan.tasks.push_back(plan.tasks[3]);
  plan.tasks.back().heads = {2, 4};
  plan.tasks.back().via = Task::kHome;
  verify_plan(plan);
}

TEST(RowSet, ReturnsWhatWasNotThere) {
  RowSet rows;
  EXPECT_THAT(rows.add({4, 8}), ElementsAre(Range{4, 8}));
  EXPECT_THAT(rows.add({12, 14}), ElementsAre(Range{12, 14}));
  EXPECT_THAT(rows.add({0, 20}), ElementsAre(Range{0, 4}, Range{8, 12}, Range{14, 20}));
  EXPECT_TRUE(rows.add({5, 20}).empty());
  EXPECT_TRUE(rows.add({7, 7}).empty());
}

}  // namespace
}  // namespace cadenza
