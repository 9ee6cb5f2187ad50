#include "core/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace cadenza {
namespace {

constexpr int64_t kSize = 12;

Range random_range(Rng& rng) {
  const int64_t begin = uniform_between(rng, 0, kSize);
  return {begin, uniform_between(rng, begin, kSize)};
}

std::vector<Piece> random_pieces(Rng& rng) {
  std::vector<Piece> pieces(static_cast<size_t>(uniform_between(rng, 0, 6)));
  for (Piece& piece : pieces) {
    const int64_t lowest = uniform_between(rng, -kSize, kSize);
    piece = {random_range(rng), random_range(rng), {lowest, uniform_between(rng, lowest, kSize)}};
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.q.begin < b.q.begin; });
  return pieces;
}

// Some ascending disjoint ranges, neighbours allowed.
std::vector<Range> random_ranges(Rng& rng) {
  std::vector<Range> ranges;
  for (int64_t at = 0; at < kSize;) {
    const int64_t begin = uniform_between(rng, at, kSize);
    const int64_t end = uniform_between(rng, begin, kSize);
    if (end > begin) ranges.push_back({begin, end});
    at = std::max(end, at + 1);
  }
  return ranges;
}

bool contains(const std::vector<Range>& ranges, int64_t key) {
  for (const Range range : ranges) {
    if (range.contains(key)) return true;
  }
  return false;
}

int64_t keys_of(const std::vector<Piece>& pieces, int64_t q) {
  int64_t keys = 0;
  for (const Piece& piece : pieces) keys += keys_of_query(piece, q).size();
  return keys;
}

TEST(Coverage, FirstMissingStartsAtTheFirstKeyOfOneSetOnly) {
  const uint64_t seed = 5;
  Rng rng(seed);
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const std::vector<Range> all = random_ranges(rng);
    const std::vector<Range> some = random_ranges(rng);
    int64_t first = 0;
    while (first < kSize && !(contains(all, first) && !contains(some, first))) ++first;
    const auto missing = first_missing(all, some);
    ASSERT_EQ(missing.has_value(), first < kSize);
    if (!missing) continue;
    ASSERT_EQ(missing->begin, first);
    ASSERT_FALSE(missing->empty());
    for (int64_t k = missing->begin; k < missing->end; ++k) {
      ASSERT_TRUE(contains(all, k) && !contains(some, k));
    }
  }
}

TEST(Coverage, FirstDifferenceIsTheFirstQueryWithAnotherNumberOfKeys) {
  const uint64_t seed = 6;
  Rng rng(seed);
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const std::vector<Piece> a = random_pieces(rng);
    std::vector<Piece> b = a;
    if (!b.empty()) b[uniform_below(rng, b.size())].band.highest += 1;
    if (round % 3 == 0) b = random_pieces(rng);
    int64_t first = 0;
    while (first < kSize && keys_of(a, first) == keys_of(b, first)) ++first;
    const auto found = first_difference(a, b);
    ASSERT_EQ(found.value_or(kSize), first);
  }
}

TEST(Coverage, PairsInsideIsTheSumOverAllPieces) {
  const uint64_t seed = 7;
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const PieceIndex index(random_pieces(rng));
    for (const Piece& piece : random_pieces(rng)) {
      int64_t pairs = 0;
      for (const Piece& other : index.pieces()) pairs += count_pairs(intersect(piece, other));
      ASSERT_EQ(index.pairs_inside(piece), pairs);
    }
  }
}

}  // namespace
}  // namespace cadenza
