#include "planner/nano_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/verify_plan.h"
#include "planner/random_request_test.h"

namespace cadenza {
namespace {

const PairsCostModel kPairs;

PlanRequest request_of(const std::vector<int64_t>& lengths, int ranks) {
  int64_t tokens = 0;
  for (const int64_t length : lengths) tokens += length;
  return {.documents = documents_of_lengths(lengths),
          .homes = ranks,
          .tokens_per_rank = (tokens + ranks - 1) / ranks,
          .cluster = {.servers = ranks, .speeds = {}},
          .shape = {8, 2, 64, Dtype::kFloat32},
          .cost = &kPairs};
}

int64_t tokens_of(const NanoBatchRequest& nano) {
  int64_t tokens = 0;
  for (const Document& document : nano.request.documents) tokens += document.queries.size();
  return tokens;
}

TEST(NanoBatches, CutTheDocumentInTheMiddle) {
  const auto halves = split_nano_batches(find_strategy("cad"), request_of({300, 500, 200}, 2));
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[0].documents, (std::vector<int>{0, 1}));
  EXPECT_EQ(halves[1].documents, (std::vector<int>{1, 2}));
  const Document& first = halves[0].request.documents[1];
  const Document& second = halves[1].request.documents[0];
  EXPECT_EQ(first.queries, (Range{0, 200}));
  EXPECT_EQ(second.queries, (Range{200, 500}));
  EXPECT_EQ(first.nano_batch, 0);
  EXPECT_EQ(second.nano_batch, 1);
  EXPECT_EQ(first.shards, second.shards);
  // The first nano-batch lies on ranks 0, 1, the second on 0, 1 again, 250 tokens each.
  EXPECT_EQ(first.shards, (std::vector<Shard>{{{0, 200}, 1}, {{200, 450}, 0}, {{450, 500}, 1}}));
}

TEST(NanoBatches, AMaskThatLooksAheadIsCutAtADocumentEnd) {
  PlanRequest request = request_of({300, 500, 200}, 2);
  request.documents[1].mask.kind = Mask::Kind::kFull;
  const auto halves = split_nano_batches(find_strategy("cad"), request);
  EXPECT_EQ(halves[0].documents, (std::vector<int>{0}));  // 300 is nearer to 500 than 800
  EXPECT_EQ(halves[1].documents, (std::vector<int>{1, 2}));
  request.documents[1].mask = {.kind = Mask::Kind::kPrefix, .prefix = 100};  // not across the cut
  EXPECT_EQ(split_nano_batches(find_strategy("cad"), request)[1].request.documents[0].queries,
            (Range{200, 500}));
}

TEST(NanoBatches, AStrategyThatPlacesTokensGetsWholeDocuments) {
  const PlanRequest request = request_of({300, 500, 200}, 2);
  const auto halves = split_nano_batches(find_strategy("packed"), request);
  EXPECT_FALSE(halves[0].request.homes_given);
  EXPECT_EQ(halves[0].documents, (std::vector<int>{0}));
  EXPECT_EQ(halves[0].request.options.capacity, 500);
  const auto one = split_nano_batches(find_strategy("packed"), request_of({70}, 2));
  EXPECT_EQ(one[0].documents, (std::vector<int>{0}));
  EXPECT_TRUE(one[1].documents.empty());
}

TEST(NanoBatches, HomesAreRefused) {
  PlanRequest request = request_of({300, 500}, 2);
  request.homes_given = true;
  EXPECT_THAT([&] { split_nano_batches(find_strategy("cad"), request); },
              testing::ThrowsMessage<ConfigError>(testing::HasSubstr("ping-pong")));
}

// Every strategy, every mask: each query in one of the two, balanced in tokens unless a document
// may not be cut, and both plans proved.
TEST(NanoBatches, CoverEveryQueryOnceAndVerify) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    PlanRequest request = random_request(
        rng, static_cast<MaskShape>(seed % static_cast<uint64_t>(MaskShape::kCount)), kPairs);
    request.homes_given = false;
    int64_t tokens = 0;
    bool causal = true;
    for (Document& document : request.documents) {
      document.queries = {0, document.length};
      document.nano_batch = 0;
      tokens += document.length;
      causal = causal && document.mask.kind == Mask::Kind::kCausal;
    }
    request.tokens_per_rank = tokens;
    const auto& strategies = all_strategies();
    const Strategy& strategy = strategies[seed % strategies.size()];
    const auto halves = split_nano_batches(strategy, request);
    ASSERT_EQ(tokens_of(halves[0]) + tokens_of(halves[1]), tokens);
    if (causal && !strategy.places_tokens && request.options.placement == Placement::kFill) {
      EXPECT_LE(std::abs(tokens_of(halves[0]) - tokens_of(halves[1])), 2 * request.homes);
    }
    for (const NanoBatchRequest& half : halves) {
      try {
        verify_plan(strategy.plan(half.request));
        ++planned;
      } catch (const NotApplicable&) {
      } catch (const PlanError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("limit")) << strategy.name;
      }
    }
  }
  EXPECT_GT(planned, 200);
}

}  // namespace
}  // namespace cadenza
