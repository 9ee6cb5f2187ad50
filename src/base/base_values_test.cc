#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "base/check.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/rng.h"

namespace cadenza {
namespace {

using testing::ElementsAre;

TEST(Nearest, IsTheCandidateWithTheFewestEdits) {
  EXPECT_EQ(nearest("causla", {"full", "causal", "chunked"}), "causal");
  EXPECT_EQ(nearest("--server", {"--seed", "--servers", "--out"}), "--servers");
  EXPECT_EQ(nearest("", {"abc", "a"}), "a");
  EXPECT_EQ(nearest("x", {}), "");
}

// The engine's 10000th draw is given by the C++ standard, [rand.predef].
TEST(Rng, EngineIsTheOneOfTheStandard) {
  Rng rng;
  rng.discard(9999);
  EXPECT_EQ(rng(), 9981545732273789042u);
}

// Golden: batches and data orders are drawn with these on every machine.
TEST(Rng, DrawsAreTheSameOnEveryMachine) {
  Rng rng(42);
  std::vector<int64_t> draws;
  for (int i = 0; i < 6; ++i) draws.push_back(uniform_between(rng, -3, 3));
  EXPECT_THAT(draws, ElementsAre(3, 0, 2, 1, 3, 3));
  std::vector<int> items(6);
  std::iota(items.begin(), items.end(), 0);
  shuffle(items, rng);
  EXPECT_THAT(items, ElementsAre(0, 3, 1, 2, 5, 4));
}

TEST(Rng, UniformReachesBothEndsAboutEquallyOften) {
  const uint64_t seed = 4;
  Rng rng(seed);
  std::array<int, 5> counts{};
  for (int i = 0; i < 5000; ++i) {
    ++counts.at(static_cast<size_t>(uniform_between(rng, -2, 2) + 2));
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150) << "seed " << seed;
}

// Test vectors of the FNV authors, 64-bit FNV-1a.
TEST(Hash, IsFnv1a) {
  EXPECT_EQ(hash_text(hash_bytes("")), "cbf29ce484222325");
  EXPECT_EQ(hash_text(hash_bytes("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_text(hash_bytes("foobar")), "85944171f73967e8");
  EXPECT_EQ(hash_bytes("bar", hash_bytes("foo")), hash_bytes("foobar"));
}

TEST(Check, NamesConditionAndValues) {
  const int three = 3;
  EXPECT_NO_THROW(CADENZA_CHECK(three == 3));
  EXPECT_THAT([&] { CADENZA_CHECK(three == 4, "three is ", three); },
              testing::ThrowsMessage<InternalError>(
                  testing::AllOf(testing::HasSubstr("three == 4; three is 3"),
                                 testing::HasSubstr("base_values_test.cc:"))));
}

TEST(Memory, CountsBlocksAliveAndTheirPeak) {
  const int64_t before = MemoryCounter::current_bytes();
  MemoryCounter::reset_peak();
  {
    HostBlock a(1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
    HostBlock b(500);
    b = std::move(a);
    EXPECT_EQ(b.bytes(), 1000);
    EXPECT_EQ(MemoryCounter::current_bytes(), before + 1500);
  }
  EXPECT_EQ(HostBlock(0).data(), nullptr);
  EXPECT_EQ(MemoryCounter::current_bytes(), before);
  EXPECT_EQ(MemoryCounter::peak_bytes(), before + 1500);
}

}  // namespace
}  // namespace cadenza
