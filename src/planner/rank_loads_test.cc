#include "planner/rank_loads.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/rng.h"

namespace cadenza {
namespace {

using testing::ElementsAre;

TEST(RankLoads, FindsWhoFinishesFirstAmongThoseWithRoom) {
  RankLoads loads({.servers = 3, .speeds = {}}, 3, 10);
  EXPECT_EQ(loads.first_to_finish(10, 5), 0);
  loads.add(0, 4, 1);
  loads.add(1, 8, 2);
  loads.add(2, 9, 0);
  EXPECT_EQ(loads.first_to_finish(1, 5), 2);
  EXPECT_EQ(loads.first_to_finish(2, 5), 0);
  EXPECT_EQ(loads.first_to_finish(7, 5), std::nullopt);
  EXPECT_EQ(loads.longest_time(), 2);
  EXPECT_THAT(loads.least_loaded(2, 2), ElementsAre(0, 1));
  EXPECT_THAT(loads.roomiest(6), ElementsAre(0));
  EXPECT_THAT(loads.roomiest(9), ElementsAre(0, 1, 2));
}

std::vector<Rank> least_loaded_of_all(const RankLoads& loads, int ranks, int64_t tokens) {
  std::vector<Rank> order;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (loads.room(rank) >= tokens) order.push_back(rank);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](Rank a, Rank b) { return loads.time(a) < loads.time(b); });
  if (order.size() > 4) order.resize(4);
  return order;
}

TEST(RankLoads, FindsTheSameAsLookingAtEveryRank) {
  Rng rng(5);
  for (int round = 0; round < 50; ++round) {
    Cluster cluster{.servers = static_cast<int>(uniform_between(rng, 1, 13)), .speeds = {}};
    for (int i = 0; i < cluster.servers; ++i)
      cluster.speeds.push_back(static_cast<double>(uniform_between(rng, 1, 4)));
    RankLoads loads(cluster, cluster.servers, 30);
    for (int i = 0; i < 60; ++i) {
      const int64_t tokens = uniform_between(rng, 1, 9);
      const auto cost = static_cast<double>(uniform_between(rng, 0, 20));
      std::optional<Rank> first;
      const auto end = [&](Rank r) { return loads.time(r) + cost / loads.speed(r); };
      for (Rank rank = 0; rank < cluster.servers; ++rank) {
        if (loads.room(rank) < tokens) continue;
        if (!first || end(rank) < end(*first)) first = rank;
      }
      ASSERT_EQ(loads.first_to_finish(tokens, cost), first) << "seed 5, round " << round;
      ASSERT_EQ(loads.least_loaded(4, tokens), least_loaded_of_all(loads, cluster.servers, tokens));
      if (first) loads.add(*first, tokens, cost);
    }
  }
}

}  // namespace
}  // namespace cadenza
