#include "planner/place_head_tail.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/rng.h"
#include "planner/apportion.h"
#include "planner/home_tasks.h"

namespace cadenza {
namespace {

using testing::ElementsAre;

std::vector<int64_t> pairs_of(int64_t length, const std::vector<RankShare>& shares) {
  Batch batch{.homes = static_cast<int>(shares.size()),
              .documents = documents_of_lengths({length})};
  batch.documents[0].shards = place_head_tail(length, shares);
  const int servers = batch.homes;
  std::vector<Task> tasks = home_tasks(batch);
  return pairs_per_server({.strategy = "test", .servers = servers, .batch = batch, .tasks = tasks});
}

TEST(PlaceHeadTail, IsZigzag) {
  const std::vector<RankShare> halves = {{0, 2}, {1, 2}};
  EXPECT_THAT(place_head_tail(4, halves),
              ElementsAre(Shard{{0, 1}, 0}, Shard{{1, 3}, 1}, Shard{{3, 4}, 0}));
}

TEST(PlaceHeadTail, LosesNoTokenOfAnOddLengthNorOfOneShorterThanTheRanks) {
  const std::vector<RankShare> seven = {{0, 4}, {1, 3}}, one = {{3, 0}, {5, 1}, {2, 0}};
  EXPECT_THAT(place_head_tail(7, seven),
              ElementsAre(Shard{{0, 2}, 0}, Shard{{2, 5}, 1}, Shard{{5, 7}, 0}));
  EXPECT_THAT(place_head_tail(1, one), ElementsAre(Shard{{0, 1}, 5}));
}

TEST(PlaceHeadTail, GivesPairsInProportionToTokensUnderACausalMask) {
  // 8 tokens have 36 pairs, 4.5 a token.
  EXPECT_THAT(pairs_of(8, {{0, 2}, {1, 4}, {2, 2}}), ElementsAre(9, 18, 9));
  EXPECT_THAT(pairs_of(4096, {{0, 1024}, {1, 1024}, {2, 1024}, {3, 1024}}),
              testing::Each(4096 * 4097 / 2 / 4));
  // An odd share has a row more in one half; half of the ranks have it in the other half.
  const std::vector<int64_t> odd = pairs_of(20, {{0, 5}, {1, 5}, {2, 5}, {3, 5}});
  for (const int64_t pairs : odd) EXPECT_NEAR(static_cast<double>(pairs), 210 / 4.0, 10);
}

TEST(Apportion, FollowsWeightsAsFarAsRoomsAllow) {
  EXPECT_THAT(apportion(12, std::vector<ShareBound>{{1, 100}, {2, 100}, {3, 100}}),
              ElementsAre(2, 4, 6));
  EXPECT_THAT(apportion(12, std::vector<ShareBound>{{1, 100}, {2, 1}, {3, 100}}),
              ElementsAre(3, 1, 8));
  EXPECT_THAT(apportion(7, std::vector<ShareBound>{{1, 4}, {1, 0}, {1, 4}}), ElementsAre(4, 0, 3));
  EXPECT_THAT(apportion(0, std::vector<ShareBound>{{1, 4}, {0, 0}}), ElementsAre(0, 0));
}

TEST(Apportion, SumsToTheTotalWithinRoomsWhateverTheNumbers) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<ShareBound> bounds(1 + uniform_below(rng, 9));
    int64_t room = 0;
    for (ShareBound& bound : bounds) {
      const bool large = uniform_below(rng, 2) == 0;
      bound.room = uniform_between(rng, 0, large ? int64_t{1} << 31 : 3);
      bound.weight = static_cast<double>(uniform_between(rng, 1, large ? int64_t{1} << 31 : 7)) / 3;
      room += bound.room;
    }
    const int64_t total = uniform_below(rng, 3) == 0 ? room : uniform_between(rng, 0, room);
    const std::vector<int64_t> shares = apportion(total, bounds);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), total) << "seed 3, " << i;
    for (size_t j = 0; j < shares.size(); ++j) {
      EXPECT_GE(shares[j], 0);
      EXPECT_LE(shares[j], bounds[j].room) << "seed 3, " << i;
    }
  }
}

}  // namespace
}  // namespace cadenza
