#include "core/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "testing/mask_definition.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Batch, SequentialFillGoesOnOnTheNextRank) {
  const Batch batch = fill_sequentially(documents_of_lengths({3, 10, 1, 2}), 3, 6);
  EXPECT_EQ(batch.homes, 3);
  EXPECT_EQ(batch.documents[0].shards, (std::vector<Shard>{{{0, 3}, 0}}));
  EXPECT_EQ(batch.documents[1].shards,
            (std::vector<Shard>{{{0, 3}, 0}, {{3, 9}, 1}, {{9, 10}, 2}}));
  EXPECT_EQ(batch.documents[2].shards, (std::vector<Shard>{{{0, 1}, 2}}));
  EXPECT_EQ(batch.documents[3].shards, (std::vector<Shard>{{{0, 2}, 2}}));
  EXPECT_EQ(local_rows(batch, 0), 6);
  EXPECT_EQ(local_rows(batch, 1), 6);
  EXPECT_EQ(local_rows(batch, 2), 4);
  EXPECT_EQ(local_rows(batch, 3), 0);
  EXPECT_NO_THROW(check_batch(batch));
}

TEST(Batch, FillSaysHowManyTokensWouldDo) {
  EXPECT_THAT(
      [] {
        fill_sequentially(documents_of_lengths({7, 4}), 3, 3);
      },
      ThrowsMessage<ConfigError>(HasSubstr("11 tokens on 3 ranks, got 3 tokens a rank; give "
                                           "at least 4")));
  EXPECT_NO_THROW(fill_sequentially(documents_of_lengths({7, 4}), 3, 4));
  EXPECT_THAT([] { fill_sequentially({}, 0, 3); },
              ThrowsMessage<ConfigError>(HasSubstr("ranks >= 1, got 0")));
}

TEST(Batch, LengthsWithoutSenseAreRefused) {
  EXPECT_THAT(
      [] {
        documents_of_lengths({4, 0});
      },
      ThrowsMessage<DataError>(HasSubstr("document 1: expected a length >= 1, got 0")));
  EXPECT_THAT(
      [] {
        documents_of_lengths({kMaxTokens, 1});
      },
      ThrowsMessage<DataError>(HasSubstr("document 1: expected at most 2147483648")));
  EXPECT_EQ(documents_of_lengths({kMaxTokens})[0].queries, (Range{0, kMaxTokens}));
}

TEST(Batch, RowsOutsideTheQueriesAreNotLocal) {
  Batch batch = fill_sequentially(documents_of_lengths({5, 6}), 2, 6);
  batch.documents[1].queries = {2, 6};
  EXPECT_EQ(local_rows(batch, 0), 5);
  const auto shards = local_shards(batch, 1);
  ASSERT_EQ(shards.size(), 1u);
  EXPECT_EQ(shards[0].document, 1);
  EXPECT_EQ(shards[0].rows, (Range{2, 6}));
  EXPECT_EQ(shards[0].first_row, 0);
}

TEST(Batch, LocalShardsLieOneAfterTheOther) {
  const uint64_t seed = 17;
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Batch batch = random_batch(rng, {.ranks = 3});
    int64_t tokens = 0;
    for (Rank rank = 0; rank < batch.homes; ++rank) {
      int64_t row = 0;
      std::pair<int, int64_t> last{-1, 0};
      for (const LocalShard& shard : local_shards(batch, rank)) {
        ASSERT_EQ(shard.first_row, row);
        ASSERT_LT(last, std::pair(shard.document, shard.rows.begin));
        last = {shard.document, shard.rows.begin};
        row += shard.rows.size();
      }
      ASSERT_EQ(local_rows(batch, rank), row);
      tokens += row;
    }
    for (const Document& document : batch.documents) tokens -= document.length;
    ASSERT_EQ(tokens, 0);
  }
}

TEST(Batch, SharesTokensEvenlyInTheOrderOfDocuments) {
  const uint64_t seed = 19;
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const int ranks = static_cast<int>(uniform_between(rng, 1, 6));
    std::vector<Document> documents = random_batch(rng, {.ranks = 2, .max_length = 9}).documents;
    int64_t tokens = 0;
    for (const Document& document : documents) tokens += document.length;
    const Batch batch = fill_evenly(documents, ranks, tokens);
    ASSERT_NO_THROW(check_batch(batch));
    Rank last = 0;
    for (const Document& document : batch.documents) {
      for (const Shard& shard : document.shards) {
        ASSERT_GE(shard.home, last);
        last = shard.home;
      }
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      ASSERT_GE(local_rows(batch, rank), tokens / ranks);
      ASSERT_LE(local_rows(batch, rank), (tokens + ranks - 1) / ranks);
    }
  }
}

TEST(Batch, EvenHomesNeedTheSameRoomAsFilledOnes) {
  const std::vector<Document> documents = documents_of_lengths({5, 6});
  EXPECT_THAT([&] { fill_evenly(documents, 2, 5); },
              ThrowsMessage<ConfigError>(HasSubstr("give at least 6")));
  EXPECT_EQ(local_rows(fill_evenly(documents, 2, 100), 0), 5);
}

TEST(Batch, CountsThePairsOfTheQueriesThatAPlanCovers) {
  const uint64_t seed = 18;
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    Batch batch = random_batch(rng, {.max_length = 20, .masks = true});
    int64_t expected = 0;
    for (Document& document : batch.documents) {
      document.queries.begin = uniform_between(rng, 0, document.length);
      for (int64_t q = document.queries.begin; q < document.length; ++q) {
        for (int64_t k = 0; k < document.length; ++k) {
          expected += mask_allows(document.mask, document.length, q, k) ? 1 : 0;
        }
      }
    }
    ASSERT_EQ(count_pairs(batch), expected);
  }
}

TEST(Batch, CheckNamesDocumentAndRange) {
  const Batch good = fill_sequentially(documents_of_lengths({5, 7}), 2, 6);
  const auto refused = [&](auto change, const char* text) {
    Batch batch = good;
    change(batch.documents[1]);
    EXPECT_THAT([&] { check_batch(batch); }, ThrowsMessage<DataError>(HasSubstr(text)));
  };
  refused([](Document& d) { d.length = 0; }, "document 1: expected a length >= 1, got 0");
  refused([](Document& d) { d.queries.end = 8; }, "queries inside [0, 7), got [0, 8)");
  refused([](Document& d) { d.nano_batch = 2; }, "nano_batch 0 or 1, got 2");
  refused([](Document& d) { d.shards.clear(); }, "document 1: expected shards up to 7");
  refused([](Document& d) { d.shards.pop_back(); }, "rows [1, 7) without a home");
  refused([](Document& d) { d.shards[1].rows.begin = 2; }, "shard from 1 on, got [2, 7)");
  refused([](Document& d) { d.shards[0].home = 2; }, "home from 0 to 1, got 2");
}

}  // namespace
}  // namespace cadenza
