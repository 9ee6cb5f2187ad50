#include "core/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "core/overlap.h"
#include "testing/mask_definition.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Every pair is in exactly as many pieces as the definition says: one or none.
void expect_pieces_are_the_definition(const Mask& mask, int64_t length) {
  const std::vector<Piece> pieces = mask_pieces(mask, length);
  for (int64_t q = 0; q < length; ++q) {
    for (int64_t k = 0; k < length; ++k) {
      int holders = 0;
      for (const Piece& piece : pieces) holders += keys_of_query(piece, q).contains(k) ? 1 : 0;
      ASSERT_EQ(holders, mask_allows(mask, length, q, k) ? 1 : 0)
          << mask_kind_name(mask.kind) << " window " << mask.window << " sinks " << mask.sinks
          << " chunk " << mask.chunk << " prefix " << mask.prefix << ": q " << q << " k " << k;
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(trim(pieces[i]), pieces[i]);
    ASSERT_FALSE(pieces[i].q.empty());
    if (i > 0) {
      ASSERT_LE(pieces[i - 1].q.begin, pieces[i].q.begin);
    }
  }
}

TEST(Mask, PiecesAreTheDefinitionForAllSmallParameters) {
  for (int64_t length = 1; length <= 7; ++length) {
    expect_pieces_are_the_definition({.kind = Mask::Kind::kCausal, .explicit_pieces = {}}, length);
    expect_pieces_are_the_definition({.kind = Mask::Kind::kFull, .explicit_pieces = {}}, length);
    for (int64_t n = 1; n <= length + 2; ++n) {
      Mask chunked{.kind = Mask::Kind::kChunked, .explicit_pieces = {}};
      chunked.chunk = n;
      expect_pieces_are_the_definition(chunked, length);
      Mask prefix{.kind = Mask::Kind::kPrefix, .explicit_pieces = {}};
      prefix.prefix = n - 1;
      expect_pieces_are_the_definition(prefix, length);
      for (int64_t sinks = 0; sinks <= length + 2; ++sinks) {
        Mask window{.kind = Mask::Kind::kWindow, .explicit_pieces = {}};
        window.window = n;
        window.sinks = sinks;
        expect_pieces_are_the_definition(window, length);
      }
    }
  }
}

TEST(Mask, ExplicitPiecesAreKeptInOrderOfQueries) {
  Mask mask{.kind = Mask::Kind::kPieces, .explicit_pieces = {}};
  mask.explicit_pieces = {{{4, 8}, {4, 8}, Band::causal()},
                          {{2, 2}, {0, 8}, Band::full()},
                          {{0, 8}, {0, 4}, Band::causal()}};
  expect_pieces_are_the_definition(mask, 8);
  EXPECT_EQ(mask_pieces(mask, 8).size(), 2u);
}

TEST(Mask, NumbersWithoutSenseAreRefusedByName) {
  const auto refuses = [](Mask mask, const char* text) {
    EXPECT_THAT([&] { mask_pieces(mask, 8); }, ThrowsMessage<DataError>(HasSubstr(text)));
  };
  Mask mask{.kind = Mask::Kind::kWindow, .explicit_pieces = {}};
  refuses(mask, "window >= 1, got 0");
  mask.window = 1;
  mask.sinks = -1;
  refuses(mask, "sinks >= 0, got -1");
  refuses({.kind = Mask::Kind::kChunked, .explicit_pieces = {}}, "chunk >= 1, got 0");
  mask.kind = Mask::Kind::kPrefix;
  mask.prefix = -2;
  refuses(mask, "prefix >= 0, got -2");
  mask.kind = Mask::Kind::kPieces;
  mask.explicit_pieces = {{{0, 9}, {0, 8}, Band::causal()}};
  refuses(mask, "pieces[0] with q [0, 9)");
  mask.explicit_pieces = {{{0, 8}, {0, 4}, Band::causal()}, {{2, 8}, {3, 8}, Band::causal()}};
  refuses(mask, "query 3, key 3 in both pieces[0] and pieces[1]");
}

// Few enough pairs that sets of random pieces are disjoint about as often as not.
TEST(Overlap, IsFoundExactlyWhenAPairLiesInTwoPieces) {
  const uint64_t seed = 20240611;
  Rng rng(seed);
  int disjoint = 0;
  for (int round = 0; round < 4000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    std::vector<Piece> pieces(static_cast<size_t>(uniform_between(rng, 1, 6)));
    for (Piece& piece : pieces) {
      const auto range = [&] {
        const int64_t begin = uniform_between(rng, 0, 11);
        return Range{begin, std::min<int64_t>(12, begin + uniform_between(rng, 0, 9))};
      };
      const int64_t lowest = uniform_between(rng, -10, 6);
      piece = {range(), range(), {lowest, lowest + uniform_between(rng, 0, 12)}};
      if (uniform_below(rng, 3) == 0) piece.band.lowest = Band::kUnboundedBelow;
    }
    bool meet = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (size_t j = 0; j < i; ++j) meet |= count_pairs(intersect(pieces[i], pieces[j])) > 0;
    }
    disjoint += meet ? 0 : 1;
    const auto found = find_overlap(pieces);
    ASSERT_EQ(found.has_value(), meet);
    if (found) {
      ASSERT_LT(found->first, found->second);
      ASSERT_TRUE(keys_of_query(pieces[found->first], found->q).contains(found->k));
      ASSERT_TRUE(keys_of_query(pieces[found->second], found->q).contains(found->k));
    }
  }
  EXPECT_GT(disjoint, 500);
  EXPECT_LT(disjoint, 3500);
}

}  // namespace
}  // namespace cadenza
