// The row operations on bf16 rows; their fp32 forms are in row_ops_test.cc.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "kernels/bf16_rows.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;

template <typename T>
std::byte* bytes_of(std::vector<T>& elements) {
  return reinterpret_cast<std::byte*>(elements.data());
}

std::vector<BFloat16> rounded(const std::vector<float>& floats) {
  std::vector<BFloat16> out;
  for (const float x : floats) out.push_back(to_bf16(x));
  return out;
}

int gaps_left(const std::vector<BFloat16>& memory) {
  int gaps = 0;
  for (const BFloat16 x : memory) gaps += std::isnan(to_float(x));
  return gaps;
}

// 1 + 2^-8 lies in the middle of two bf16 numbers, 1 + 3 · 2^-8 too.
TEST(RowOpsBf16, ConvertRoundsToEvenAndBackIsExactForAnyStridesAndThreads) {
  Rng rng(8);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(cat("seed 8, case ", i));
    const int64_t rows = uniform_between(rng, 0, i == 0 ? 40000 : 50);
    TestRows from = random_rows(rng, rows, 3, 7, i % 2 == 0), back(rows, 3, 7, i % 3, i % 5);
    if (rows > 0) from.view.f32(0, 0)[0] = 1 + 0x1p-8f;
    if (rows > 0) from.view.f32(0, 0)[1] = 1 + 3 * 0x1p-8f;
    Bf16Rows narrow{TestRows(rows, 3, 7, i % 4, i % 3)};
    make_cpu_backend(2)->convert_rows(from.view, narrow.view);
    make_cpu_backend(3)->convert_rows(narrow.view, back.view);
    if (rows > 0) {
      EXPECT_EQ(back.view.f32(0, 0)[0], 1);
      EXPECT_EQ(back.view.f32(0, 0)[1], 1 + 4 * 0x1p-8f);
    }
    round_to_bf16(from);
    EXPECT_EQ(as_doubles(back.view), as_doubles(from.view));
    EXPECT_EQ(as_doubles(narrow.view), as_doubles(from.view));
    const int64_t elements = rows * 3 * 7;
    EXPECT_EQ(gaps_left(narrow.memory), static_cast<int64_t>(narrow.memory.size()) - elements);
  }
}

TEST(RowOpsBf16, ConvertOfOneDtypeCopies) {
  Rng rng(9);
  const TestRows from = random_rows(rng, 9, 2, 5, true);
  TestRows to(9, 2, 5);
  make_cpu_backend(1)->convert_rows(from.view, to.view);
  EXPECT_EQ(as_doubles(to.view), as_doubles(from.view));
  const Bf16Rows narrow(from);
  Bf16Rows other(to);
  make_cpu_backend(1)->fill(other.view, 0);
  make_cpu_backend(1)->convert_rows(narrow.view, other.view);
  EXPECT_EQ(as_doubles(other.view), as_doubles(narrow.view));
}

TEST(RowOpsBf16, ConvertRefusesOtherShapes) {
  const TestRows from(4, 2, 6), fewer(3, 2, 6), narrower(4, 2, 5);
  for (const TestRows* to : {&fewer, &narrower}) {
    EXPECT_THROW(make_cpu_backend(1)->convert_rows(from.view, to->view), InternalError);
  }
}

// Sums of many terms stay fp32: in bf16 they would stop growing at 256.
TEST(RowOpsBf16, AddSumsInFp32) {
  TestRows target(2, 2, 3, 1, 2);
  const std::vector<RowRun> runs{{{1, 2}, {1, 2}}, {{0, 2}, {0, 1}}};
  auto packed = rounded({1, 1, 1, 0.5f, 3, 4, -2, 6, 7});
  const auto backend = make_cpu_backend(2);
  for (int i = 0; i < 1000; ++i) {
    backend->add_rows(bytes_of(packed), Dtype::kBFloat16, runs, target.view);
  }
  EXPECT_THAT(as_doubles(target.view),
              ElementsAre(500, 3000, 4000, 0, 0, 0, -2000, 6000, 7000, 1000, 1000, 1000));
}

TEST(RowOpsBf16, FillTouchesOnlyItsElements) {
  Bf16Rows rows{TestRows(3, 2, 3, 2, 1)};
  make_cpu_backend(1)->fill(rows.view, 1 + 3 * 0x1p-8f);
  EXPECT_THAT(as_doubles(rows.view), Each(1 + 4 * 0x1p-8));
  EXPECT_EQ(gaps_left(rows.memory), 3 * (2 * 2 + 1));
}

TEST(RowOpsBf16, RowDotOfAnyDtypesIsThatOfTheirValuesBitForBit) {
  Rng rng(10);
  for (const int64_t dim : {1, 7, 8, 19, 128}) {
    TestRows a = random_rows(rng, 5, 3, dim, true), b = random_rows(rng, 5, 3, dim, true);
    round_to_bf16(a);
    round_to_bf16(b);
    const Bf16Rows narrow_a(a), narrow_b(b);
    const auto dot = [&](const RowsView& x, const RowsView& y) {
      TestRows delta(5, 3, 1);
      make_cpu_backend(2)->row_dot(x, y, delta.view);
      return delta.memory;
    };
    const auto expected = dot(a.view, b.view);
    EXPECT_EQ(dot(narrow_a.view, b.view), expected) << "dim " << dim;
    EXPECT_EQ(dot(a.view, narrow_b.view), expected) << "dim " << dim;
    EXPECT_EQ(dot(narrow_a.view, narrow_b.view), expected) << "dim " << dim;
  }
}

// Odd numbers of bf16 elements, and the LSEs right behind them at an odd multiple of two bytes: as
// a message holds them.
TEST(RowOpsBf16, MergeGivesWhatTheWidenedPartialGives) {
  Rng rng(11);
  const std::vector<RowRun> runs{{{2, 5}, {1, 3}}, {{0, 1}, {0, 1}}, {{2, 5}, {1, 3}}};
  constexpr int64_t kPairs = 3 * 2 + 1 + 3 * 2, kDim = 5;
  TestRows partial = random_rows(rng, kPairs, 1, kDim, false), lse(kPairs, 1, 1);
  lse.set([&](int64_t row, int64_t, int64_t) {
    return row == 2 ? -std::numeric_limits<float>::infinity() : uniform(rng, -2, 2);
  });
  round_to_bf16(partial);
  const auto narrow = rounded(partial.memory);
  std::vector<std::byte> message(static_cast<size_t>(kPairs * (kDim * 2 + 4)));
  std::memcpy(message.data(), narrow.data(), narrow.size() * 2);
  std::memcpy(message.data() + narrow.size() * 2, lse.memory.data(), lse.memory.size() * 4);

  const auto merged = [&](const std::byte* o_bytes, Dtype dtype, const std::byte* lse_bytes) {
    TestRows o(5, 3, kDim, 1, 1), into_lse(5, 3, 1);
    into_lse.set([](int64_t row, int64_t, int64_t) {
      return row == 3 ? 0.25f : -std::numeric_limits<float>::infinity();
    });
    make_cpu_backend(2)->merge_rows(o_bytes, dtype, lse_bytes, runs, o.view, into_lse.view);
    return std::pair(as_doubles(o.view), as_doubles(into_lse.view));
  };
  const auto expected = merged(bytes_of(partial.memory), Dtype::kFloat32, bytes_of(lse.memory));
  EXPECT_EQ(merged(message.data(), Dtype::kBFloat16, message.data() + narrow.size() * 2), expected);
  EXPECT_NE(expected.first, std::vector<double>(expected.first.size(), 0.0));
}

}  // namespace
}  // namespace cadenza
