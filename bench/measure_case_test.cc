#include "bench/measure_case.h"

#include <gtest/gtest.h>

#include "bench/document_lengths.h"
#include "bench/median.h"

namespace cadenza::bench {
namespace {

TEST(CountRounds, WhatFitsUpToFifteenAfterAWarmUp) {
  const RoundCount count = count_rounds(1, 10);
  EXPECT_EQ(count.rounds, 9);
  EXPECT_TRUE(count.warm_up);
  EXPECT_EQ(count_rounds(1e-9, 10).rounds, 15);
}

TEST(CountRounds, ThreeWhereThatIsNotFarTooLong) {
  const RoundCount count = count_rounds(1, 1.7);
  EXPECT_EQ(count.rounds, 3);
  EXPECT_TRUE(count.warm_up);
}

TEST(CountRounds, TheFirstCountsWhereThreeAreTooLong) {
  EXPECT_EQ(count_rounds(1, 1.5).rounds, 3);
  EXPECT_EQ(count_rounds(1, 1).rounds, 2);
  EXPECT_EQ(count_rounds(100, 1).rounds, 1);
  EXPECT_EQ(count_rounds(100, 0).rounds, 1);
  EXPECT_FALSE(count_rounds(1, 1.5).warm_up);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({9, 1, 4, 2}), 3);
}

TEST(DrawDocuments, AreTheSameEveryTimeAndFillTheTokens) {
  const std::vector<int64_t> samples = built_in_lengths().samples;
  const std::vector<int64_t> documents = draw_documents(samples, 32768);
  int64_t tokens = 0;
  for (const int64_t length : documents) {
    EXPECT_GE(length, 1);
    tokens += length;
  }
  EXPECT_EQ(tokens, 32768);
  EXPECT_GT(documents.size(), 3u);
  EXPECT_EQ(documents, draw_documents(samples, 32768));
}

}  // namespace
}  // namespace cadenza::bench
