#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/batch.h"
#include "testing/expect_close.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

using Floats = std::vector<float>;

TEST(CloseTo, MeasuresAgainstTheLargestExpectedValue) {
  EXPECT_TRUE(close_to(Floats{1.0f, 100.5f}, Floats{1.5f, 100.0f}, 0.005));
  EXPECT_FALSE(close_to(Floats{1.0f, 100.6f}, Floats{1.5f, 100.0f}, 0.005));
  EXPECT_TRUE(close_to(Floats{0.0f}, Floats{0.0f}, 0.0));
  EXPECT_FALSE(close_to(Floats{1e-30f}, Floats{0.0f}, 1.0));
}

TEST(CloseTo, WhatIsNotFiniteFails) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(close_to(Floats{nan}, Floats{1.0f}, 1e9));
  EXPECT_FALSE(close_to(Floats{1.0f}, Floats{nan}, 1e9));
  EXPECT_FALSE(close_to(Floats{nan}, Floats{nan}, 1e9));
  EXPECT_FALSE(close_to(Floats{inf}, Floats{inf}, 1e9));
  EXPECT_FALSE(close_to(Floats{1.0f}, Floats{inf}, 1e9));
}

TEST(CloseTo, NamesTheWorstPositionAndBothValues) {
  const auto result = close_to(Floats{1, 2, 5, 4}, std::vector<double>{1, 2, 3, 4.5}, 0.1);
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), testing::HasSubstr("worst at 2 of 4: 5, expected 3"));
}

TEST(CloseTo, OtherSizesFail) {
  EXPECT_FALSE(close_to(Floats{1}, Floats{1, 1}, 1.0));
  EXPECT_FALSE(close_to(Floats{}, Floats{0}, 1.0));
}

// The variety that other tests rely on: each kind of batch must turn up among a few hundred.
TEST(RandomBatch, IsAsVariedAsItPromises) {
  const uint64_t seed = 3;
  Rng rng(seed);
  std::set<std::string> seen;
  for (int round = 0; round < 300; ++round) {
    const Batch batch = random_batch(rng, {.ranks = 4, .max_length = 30, .masks = true});
    ASSERT_NO_THROW(check_batch(batch)) << "seed " << seed << " round " << round;
    if (batch.documents.size() < 4) seen.insert("fewer documents than ranks");
    for (Rank rank = 0; rank < 4; ++rank) {
      if (local_rows(batch, rank) == 0) seen.insert("a rank without tokens");
    }
    for (const Document& document : batch.documents) {
      ASSERT_LE(document.length, 30);
      seen.insert(document.mask.sinks > 0 ? "window with sinks"
                                          : mask_kind_name(document.mask.kind));
      if (document.length == 1) seen.insert("one token");
      if (document.length > 1 && document.length % 2 == 1) seen.insert("odd length");
      std::set<Rank> homes;
      Rank last = 0;
      for (const Shard& shard : document.shards) {
        if (homes.contains(shard.home)) seen.insert("several shards on one rank");
        if (shard.home < last) seen.insert("shards in another order than ranks");
        homes.insert(last = shard.home);
      }
      if (homes.size() == 4) seen.insert("a document on all ranks");
    }
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        "fewer documents than ranks", "a rank without tokens", "causal", "window",
                        "window with sinks", "chunked", "prefix", "full", "one token", "odd length",
                        "several shards on one rank", "shards in another order than ranks",
                        "a document on all ranks"));
}

}  // namespace
}  // namespace cadenza
