#include "planner/pass_on.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "planner/last_holders.h"
#include "planner/random_request_test.h"

namespace cadenza {
namespace {

using testing::ElementsAre;

const PairsCostModel kPairs;

TEST(LastHolders, KnowWhoGotEachRowLast) {
  LastHolders holders;
  EXPECT_THAT(holders.of({0, 9}), ElementsAre(HeldRows{{0, 9}, Task::kHome}));
  holders.set({2, 6}, 1);
  holders.set({4, 8}, 2);
  EXPECT_THAT(holders.of({0, 9}), ElementsAre(HeldRows{{0, 2}, Task::kHome}, HeldRows{{2, 4}, 1},
                                              HeldRows{{4, 8}, 2}, HeldRows{{8, 9}, Task::kHome}));
  holders.set({3, 5}, 3);
  holders.set({5, 6}, 3);
  EXPECT_THAT(holders.of({3, 8}), ElementsAre(HeldRows{{3, 6}, 3}, HeldRows{{6, 8}, 2}));
  holders.set({0, 9}, 1);
  EXPECT_THAT(holders.of({5, 7}), ElementsAre(HeldRows{{5, 7}, 1}));
}

/// Round in which each (server, document, key row) is first needed.
std::map<std::tuple<Rank, int, int64_t>, int> first_rounds(const Plan& plan) {
  std::map<std::tuple<Rank, int, int64_t>, int> first;
  for (const Task& task : plan.tasks) {
    const Range kv = trim(task.piece).kv;
    for (int64_t row = kv.begin; row < kv.end; ++row) {
      const auto [at, added] = first.insert({{task.server, task.document, row}, task.round});
      if (!added) at->second = std::min(at->second, task.round);
    }
  }
  return first;
}

// Whatever the mask leaves out: whoever passes a row on has had it since an earlier round.
TEST(PassOn, TakesRowsOnlyFromServersThatHaveThem) {
  int passed_on = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    PlanRequest request = random_request(rng, static_cast<MaskShape>(seed % 7), kPairs);
    request.options.capacity = 100'000;
    if (request.cluster.servers_per_node == 0) request.cluster.servers_per_node = 3;
    for (const char* strategy : {"ring", "two_level_ring"}) {
      const Plan plan = find_strategy(strategy).plan(request);
      const auto first = first_rounds(plan);
      for (const Task& task : plan.tasks) {
        if (task.via == Task::kHome) continue;
        ++passed_on;
        for (int64_t row = task.piece.kv.begin; row < task.piece.kv.end; ++row) {
          const auto held = first.find({task.via, task.document, row});
          ASSERT_TRUE(held != first.end() && held->second < task.round)
              << "seed " << seed << ", " << strategy << ": server " << task.via << " has no row "
              << row << " before round " << task.round << "\n"
              << describe(request);
        }
      }
    }
  }
  EXPECT_GT(passed_on, 1000);
}

}  // namespace
}  // namespace cadenza
