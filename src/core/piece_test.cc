#include "core/piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/strip.h"

namespace cadenza {
namespace {

bool holds(const Piece& piece, int64_t q, int64_t k) {
  return piece.q.contains(q) && piece.kv.contains(k) && k - q >= piece.band.lowest &&
         k - q <= piece.band.highest;
}

int64_t brute_pairs(const Piece& piece) {
  int64_t pairs = 0;
  for (int64_t q = piece.q.begin; q < piece.q.end; ++q) {
    for (int64_t k = piece.kv.begin; k < piece.kv.end; ++k) pairs += holds(piece, q, k) ? 1 : 0;
  }
  return pairs;
}

// All ranges inside [0, size], empty ones included, with all bands that differ on them, open ones
// included.
std::vector<Piece> all_small_pieces(int64_t size) {
  std::vector<Range> ranges;
  for (int64_t begin = 0; begin <= size; ++begin) {
    for (int64_t end = begin; end <= size; ++end) ranges.push_back({begin, end});
  }
  std::vector<int64_t> bounds = {Band::kUnboundedBelow, Band::kUnboundedAbove};
  for (int64_t bound = -size - 1; bound <= size + 1; ++bound) bounds.push_back(bound);
  std::vector<Piece> pieces;
  for (const Range q : ranges) {
    for (const Range kv : ranges) {
      for (const int64_t lowest : bounds) {
        for (const int64_t highest : bounds) pieces.push_back({q, kv, {lowest, highest}});
      }
    }
  }
  return pieces;
}

TEST(Piece, CountsEveryPairOnce) {
  for (const Piece& piece : all_small_pieces(5)) {
    ASSERT_EQ(count_pairs(piece), brute_pairs(piece))
        << piece.q << " x " << piece.kv << " band " << piece.band;
  }
}

TEST(Piece, CountsTheLargestDocumentsWithoutOverflow) {
  const int64_t n = int64_t{1} << 31;
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, Band::full()}), n * n);
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, Band::causal()}), n * (n + 1) / 2);
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, {-n, n}}), n * n);
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, {1 - n, 1 - n}}), 1);
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, {-most, most}}), n * n);
  EXPECT_EQ(count_pairs(Piece{{0, n}, {0, n}, {most, most}}), 0);
}

TEST(Piece, KeysOfQueryAreTheKeysThatItHolds) {
  for (const Piece& piece : all_small_pieces(4)) {
    for (int64_t q = -1; q <= 5; ++q) {
      const Range keys = keys_of_query(piece, q);
      ASSERT_LE(keys.begin, keys.end);
      for (int64_t k = -1; k <= 5; ++k) ASSERT_EQ(keys.contains(k), holds(piece, q, k));
    }
  }
}

TEST(Piece, TrimKeepsThePairsAndLeavesNoEmptyRow) {
  for (const Piece& piece : all_small_pieces(5)) {
    const Piece tight = trim(piece);
    ASSERT_EQ(brute_pairs(tight), brute_pairs(piece));
    ASSERT_TRUE(piece.q.contains(tight.q) && piece.kv.contains(tight.kv));
    if (brute_pairs(piece) == 0) {
      ASSERT_TRUE(tight.q.empty() && tight.kv.empty());
    }
    for (int64_t q = tight.q.begin; q < tight.q.end; ++q) {
      ASSERT_GT(brute_pairs({{q, q + 1}, tight.kv, tight.band}), 0);
    }
    for (int64_t k = tight.kv.begin; k < tight.kv.end; ++k) {
      ASSERT_GT(brute_pairs({tight.q, {k, k + 1}, tight.band}), 0);
    }
  }
}

TEST(Piece, IntersectionHoldsWhatBothHold) {
  const std::vector<Piece> pieces = all_small_pieces(3);
  for (size_t i = 0; i < pieces.size(); i += 7) {
    for (size_t j = 0; j < pieces.size(); j += 61) {
      const Piece both = intersect(pieces[i], pieces[j]);
      for (int64_t q = 0; q < 3; ++q) {
        for (int64_t k = 0; k < 3; ++k) {
          ASSERT_EQ(holds(both, q, k), holds(pieces[i], q, k) && holds(pieces[j], q, k));
        }
      }
    }
  }
}

TEST(Strip, StripsOfAPieceAreItsRowsInOrder) {
  for (const Piece& piece : all_small_pieces(5)) {
    std::vector<Strip> strips;
    append_strips(piece, 7, strips);
    ASSERT_LE(strips.size(), 3u);
    int64_t row = trim(piece).q.begin;
    for (const Strip& strip : strips) {
      ASSERT_EQ(strip.q.begin, row);
      ASSERT_EQ(strip.piece, 7u);
      for (; row < strip.q.end; ++row) {
        ASSERT_EQ((Range{strip.left_at(row), strip.right_at(row)}), keys_of_query(piece, row));
      }
    }
    ASSERT_EQ(row, trim(piece).q.end);
  }
}

TEST(Band, PrintsOpenBoundsAsOpen) {
  std::ostringstream text;
  text << Band::causal() << Band::full() << Band{-3, 4};
  EXPECT_EQ(text.str(), "[open, 0][open, open][-3, 4]");
}

}  // namespace
}  // namespace cadenza
