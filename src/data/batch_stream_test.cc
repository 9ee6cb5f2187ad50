#include "data/batch_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "base/rng.h"
#include "data/corpus.h"
#include "data/temp_corpus_test.h"

namespace cadenza {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Documents = std::vector<std::vector<int32_t>>;

// Document i of length n holds the values 16 i + 1 .. 16 i + n, so that every token tells where it
// came from.
Corpus numbered_corpus(const TempFolder& folder, const std::vector<int64_t>& lengths) {
  CorpusOptions options;
  options.begin_token = options.end_token = false;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::string text;
    for (int64_t j = 0; j < lengths[i]; ++j)
      text += static_cast<char>(16 * static_cast<int64_t>(i) + j + 1);
    options.paths.push_back(folder.write("doc" + std::to_string(i), text));
  }
  return Corpus(options);
}

// What the batch's handles stand for.
Documents read(const Corpus& corpus, const DocumentBatch& batch) {
  Documents documents;
  for (const DocumentHandle& handle : batch.documents)
    corpus.read_rows(handle.document, handle.tokens, documents.emplace_back());
  return documents;
}

// All batches of the next epoch: read until the stream has gone past it.
std::vector<Documents> one_epoch(BatchStream& stream, const Corpus& corpus) {
  int64_t total = 0;
  for (const DocumentSource& source : corpus.sources()) total += source.tokens;
  std::vector<Documents> batches;
  while (total > 0) {
    const DocumentBatch batch = stream.next();
    total -= batch.tokens();
    batches.push_back(read(corpus, batch));
  }
  EXPECT_EQ(total, 0) << "a batch holds tokens of two epochs";
  return batches;
}

// A seed whose first epoch keeps the order of the files, so that tests can say what they expect.
uint64_t seed_in_file_order(const Corpus& corpus) {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    BatchStream stream(corpus, {.tokens_per_batch = 1000, .seed = seed});
    const Documents documents = read(corpus, stream.next());
    if (std::is_sorted(documents.begin(), documents.end())) return seed;
  }
  throw std::logic_error("no such seed");
}

class OverflowModes : public testing::Test {
 protected:
  BatchStreamOptions options(Overflow overflow) const {
    return {.tokens_per_batch = 4, .overflow = overflow, .seed = seed_};
  }
  TempFolder folder_;
  Corpus corpus_ = numbered_corpus(folder_, {5, 2, 3, 1});
  uint64_t seed_ = seed_in_file_order(corpus_);
};

TEST_F(OverflowModes, FragmentFillsBatchesAndGivesEachTokenOnce) {
  BatchStream stream(corpus_, options(Overflow::kFragment));
  EXPECT_THAT(read(corpus_, stream.next()), ElementsAre(ElementsAre(1, 2, 3, 4)));
  EXPECT_THAT(read(corpus_, stream.next()),
              ElementsAre(ElementsAre(5), ElementsAre(17, 18), ElementsAre(33)));
  const DocumentBatch third = stream.next();
  EXPECT_THAT(read(corpus_, third), ElementsAre(ElementsAre(34, 35), ElementsAre(49)));
  EXPECT_EQ(third.tokens(), 3);
  EXPECT_EQ(third.targets(corpus_), 1);
  EXPECT_EQ(stream.overflow().cut, 2);
  EXPECT_EQ(stream.epoch(), 0);
  stream.next();
  EXPECT_EQ(stream.epoch(), 1);
}

TEST_F(OverflowModes, DropLeavesOutWhatIsLongerThanABatchAndCountsIt) {
  BatchStream stream(corpus_, options(Overflow::kDrop));
  EXPECT_THAT(read(corpus_, stream.next()), ElementsAre(ElementsAre(17, 18)));
  EXPECT_THAT(read(corpus_, stream.next()), ElementsAre(ElementsAre(33, 34, 35), ElementsAre(49)));
  EXPECT_EQ(stream.overflow().dropped, 1);
  EXPECT_EQ(stream.overflow().carried, 1);
  EXPECT_EQ(stream.overflow().cut, 0);
  stream.next();
  EXPECT_EQ(stream.epoch(), 1);
}

TEST_F(OverflowModes, CarryKeepsOrderAndCutsOnlyWhatIsLongerThanABatch) {
  BatchStream stream(corpus_, options(Overflow::kCarry));
  EXPECT_THAT(read(corpus_, stream.next()), ElementsAre(ElementsAre(1, 2, 3, 4)));
  const DocumentBatch second = stream.next();
  EXPECT_THAT(read(corpus_, second), ElementsAre(ElementsAre(5), ElementsAre(17, 18)));
  EXPECT_THAT(name_of(corpus_, second.documents.at(0)), HasSubstr("doc0, from token 4"));
  EXPECT_THAT(name_of(corpus_, second.documents.at(1)), HasSubstr("doc1"));
  EXPECT_THAT(read(corpus_, stream.next()), ElementsAre(ElementsAre(33, 34, 35), ElementsAre(49)));
  EXPECT_EQ(stream.overflow().cut, 1);
  EXPECT_EQ(stream.overflow().carried, 1);
  EXPECT_EQ(stream.overflow().dropped, 0);
}

TEST_F(OverflowModes, ErrorNamesTheDocumentBeforeTheFirstBatch) {
  EXPECT_THAT([&] { BatchStream(corpus_, options(Overflow::kError)); },
              ThrowsMessage<DataError>(
                  AllOf(HasSubstr("doc0"), HasSubstr("got 5"), HasSubstr("data.overflow"))));
  BatchStreamOptions larger = options(Overflow::kError);
  larger.tokens_per_batch = 5;
  BatchStream stream(corpus_, larger);
  EXPECT_EQ(one_epoch(stream, corpus_).size(), 3u);
}

TEST_F(OverflowModes, DroppingEveryDocumentIsAnErrorNotAnEndlessWait) {
  BatchStreamOptions tiny = options(Overflow::kDrop);
  const TempFolder folder;
  const Corpus corpus = numbered_corpus(folder, {5, 6});
  BatchStream stream(corpus, tiny);
  EXPECT_THAT([&] { stream.next(); }, ThrowsMessage<DataError>(HasSubstr("only longer ones")));
  tiny.tokens_per_batch = 0;
  EXPECT_THROW(BatchStream(corpus, tiny), ConfigError);
}

TEST(BatchStream, GivesEveryTokenOfAnEpochOnceAndNeverOverfills) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 20; ++round) {
    const TempFolder folder;
    std::vector<int64_t> lengths(7);
    for (int64_t& length : lengths) length = uniform_between(rng, 1, 15);
    const Corpus corpus = numbered_corpus(folder, lengths);
    const int64_t room = uniform_between(rng, 1, 20);
    for (const Overflow overflow : {Overflow::kCarry, Overflow::kFragment}) {
      BatchStream stream(corpus, {.tokens_per_batch = room, .overflow = overflow, .seed = rng()});
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::map<int32_t, int> seen;
        for (const Documents& batch : one_epoch(stream, corpus)) {
          int64_t tokens = 0;
          for (const auto& document : batch) {
            EXPECT_FALSE(document.empty());
            tokens += static_cast<int64_t>(document.size());
            for (size_t i = 0; i < document.size(); ++i) {
              ++seen[document[i]];
              EXPECT_EQ(document[i], document[0] + static_cast<int32_t>(i))
                  << "a piece is contiguous";
            }
          }
          EXPECT_LE(tokens, room);
          EXPECT_GE(tokens, 1);
        }
        for (const auto& [token, times] : seen) EXPECT_EQ(times, 1) << "token " << token;
      }
    }
  }
}

TEST(BatchStream, EpochsArePermutationsThatDifferAndAreTheSameOnEveryRank) {
  const TempFolder folder;
  const Corpus corpus = numbered_corpus(folder, {1, 2, 3, 4, 5, 6, 7, 8});
  const BatchStreamOptions options{.tokens_per_batch = 8, .seed = 3};
  BatchStream one(corpus, options), other(corpus, options);
  const auto first = one_epoch(one, corpus), second = one_epoch(one, corpus);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, one_epoch(other, corpus));
  EXPECT_EQ(second, one_epoch(other, corpus));
  BatchStream another(corpus, {.tokens_per_batch = 8, .seed = 4});
  EXPECT_NE(first, one_epoch(another, corpus));
}

TEST(BatchStream, DeferredDocumentsComeTogetherAndEachOnceAnEpoch) {
  constexpr uint64_t kSeed = 21;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 20; ++round) {
    const TempFolder folder;
    std::vector<int64_t> lengths(12, 2);
    for (int i = 0; i < 5; ++i) lengths[static_cast<size_t>(i)] = uniform_between(rng, 3, 15);
    const Corpus corpus = numbered_corpus(folder, lengths);
    for (const Overflow overflow :
         {Overflow::kCarry, Overflow::kFragment, Overflow::kDrop, Overflow::kError}) {
      const BatchStreamOptions options{.tokens_per_batch = uniform_between(rng, 15, 24),
                                       .overflow = overflow,
                                       .seed = rng(),
                                       .defer_for_ranks = uniform_between(rng, 2, 4)};
      BatchStream stream(corpus, options), other(corpus, options);
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::map<int32_t, int> seen;
        const auto batches = one_epoch(stream, corpus);
        EXPECT_EQ(batches, one_epoch(other, corpus)) << "ranks differ";
        for (const Documents& batch : batches) {
          for (const auto& document : batch) {
            for (const int32_t token : document) ++seen[token];
          }
        }
        for (const auto& [token, times] : seen) EXPECT_EQ(times, 1) << "token " << token;
        EXPECT_EQ(stream.deferral().waiting, 0) << "an epoch's documents end with it";
      }
    }
  }
}

// A corpus whose first epoch under `seed` gives documents of these lengths in this order: the order
// depends on the number of documents alone.
Corpus corpus_in_order(const TempFolder& folder, const std::vector<size_t>& lengths,
                       uint64_t seed) {
  const TempFolder other;
  const Corpus ones = numbered_corpus(other, std::vector<int64_t>(lengths.size(), 1));
  const auto count = static_cast<int64_t>(lengths.size());
  const Documents order =
      read(ones, BatchStream(ones, {.tokens_per_batch = count, .seed = seed}).next());
  std::vector<int64_t> of_file(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i)
    of_file[static_cast<size_t>(order[i][0] / 16)] = static_cast<int64_t>(lengths[i]);
  return numbered_corpus(folder, of_file);
}

// Two ranks of 10: documents of 6 to 10 tokens wait for one another, and begin a batch together.
TEST(BatchStream, DefersUntilEveryRankGetsOne) {
  const TempFolder folder;
  const std::vector<size_t> lengths = {9, 2, 8, 2, 2, 2, 2, 2, 2, 2, 2, 2, 7};
  const Corpus corpus = corpus_in_order(folder, lengths, /*seed=*/4);
  BatchStreamOptions options{.tokens_per_batch = 20, .seed = 4};
  EXPECT_THAT(BatchStream(corpus, options).next().lengths(), ElementsAre(9, 2, 8));
  options.defer_for_ranks = 2;
  BatchStream stream(corpus, options);
  EXPECT_THAT(stream.next().lengths(), testing::AllOf(testing::SizeIs(10), testing::Each(2)));
  EXPECT_EQ(stream.deferral().waiting, 2);
  EXPECT_THAT(stream.next().lengths(), ElementsAre(9, 8));
  EXPECT_EQ(stream.deferral().delay_sum, 2);  // a batch each
  // The last has nobody to wait for: its epoch ends.
  EXPECT_THAT(stream.next().lengths(), ElementsAre(7));
  EXPECT_EQ(stream.epoch(), 0);
  EXPECT_EQ(stream.deferral().released, 3);
}

TEST(DeferredDocuments, KeepQueuesOfLikeLengthsAndCountDelays) {
  // Four ranks of 8 tokens: outliers are longer than 2.
  DeferredDocuments deferred(32, 4);
  EXPECT_FALSE(deferred.defers(2));
  EXPECT_TRUE(deferred.defers(3));
  EXPECT_TRUE(deferred.defers(16));   // two fill a batch
  EXPECT_FALSE(deferred.defers(17));  // one
  EXPECT_FALSE(deferred.defers(33));
  deferred.add(0, 3, 0);
  deferred.add(1, 16, 0);
  deferred.add(2, 5, 1);
  deferred.add(3, 4, 1);
  deferred.add(4, 3, 2);
  EXPECT_TRUE(deferred.release_group(2).empty());
  deferred.add(5, 9, 2);
  deferred.add(6, 3, 3);
  EXPECT_THAT(deferred.release_group(3), ElementsAre(1, 5));  // up to 16, two
  EXPECT_THAT(deferred.release_group(3), ElementsAre(0, 3, 4, 6));
  EXPECT_THAT(deferred.release_group(4), ElementsAre());
  EXPECT_THAT(deferred.release_all(5), ElementsAre(2));
  EXPECT_TRUE(deferred.empty());
  EXPECT_EQ(deferred.counts().released, 7);
  EXPECT_EQ(deferred.counts().longest_delay, 4);
  EXPECT_EQ(deferred.counts().delay_sum, 3 + 1 + 3 + 2 + 1 + 0 + 4);
  EXPECT_FALSE(DeferredDocuments(32, 1).defers(30));
  EXPECT_FALSE(DeferredDocuments(32, 0).defers(30));
}

// Frozen: a change of the order changes every run that is repeated or continued.
TEST(BatchStream, OrderOfASeedIsFrozen) {
  const TempFolder folder;
  const Corpus corpus = numbered_corpus(folder, {1, 1, 1, 1, 1, 1});
  BatchStream stream(corpus, {.tokens_per_batch = 6, .seed = 1});
  EXPECT_EQ(read(corpus, stream.next()), (Documents{{81}, {49}, {17}, {65}, {1}, {33}}));
}

}  // namespace
}  // namespace cadenza
