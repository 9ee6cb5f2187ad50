#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using testing::ElementsAre;
using testing::FloatEq;

std::byte* bytes_of(std::vector<float>& floats) {
  return reinterpret_cast<std::byte*>(floats.data());
}

/// row * 100 + head * 10 + d: what lies at the wrong place shows.
float place(int64_t row, int64_t head, int64_t d) {
  return static_cast<float>(row * 100 + head * 10 + d);
}

TEST(RowOps, PackWritesRunsRowsOutermostWithoutGaps) {
  TestRows source(6, 3, 2, 1, 4);
  source.set(place);
  const std::vector<RowRun> runs{{{4, 6}, {1, 3}}, {{0, 1}, {0, 1}}, {{2, 2}, {0, 3}}};
  ASSERT_EQ(Backend::packed_bytes(source.view, runs), 10 * 4);
  std::vector<float> packed(10);
  make_cpu_backend(1)->pack_rows(source.view, runs, bytes_of(packed));
  EXPECT_THAT(packed, ElementsAre(410, 411, 420, 421, 510, 511, 520, 521, 0, 1));
}

TEST(RowOps, UnpackReversesPackForAnyStridesAndThreads) {
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(cat("seed 5, case ", i));
    const int64_t rows = uniform_between(rng, 1, i == 0 ? 40000 : 50);
    TestRows source = random_rows(rng, rows, 4, 8, true), target(rows, 4, 8, 2, 3);
    const int64_t middle = uniform_between(rng, 0, rows);
    const std::vector<RowRun> runs{{{middle, rows}, {0, 4}}, {{0, middle}, {0, 4}}};
    std::vector<float> packed(static_cast<size_t>(rows * 32));
    make_cpu_backend(2)->pack_rows(source.view, runs, bytes_of(packed));
    make_cpu_backend(3)->unpack_rows(bytes_of(packed), runs, target.view);
    EXPECT_EQ(as_doubles(target.view), as_doubles(source.view));
  }
}

TEST(RowOps, PackCopiesSixteenBitRowsByTheirBytes) {
  std::vector<uint16_t> memory{1, 2, 3, 4, 5, 6, 7, 8};
  const RowsView view{.data = memory.data(),
                      .rows = 4,
                      .heads = 1,
                      .dim = 2,
                      .row_stride = 2,
                      .head_stride = 2,
                      .dtype = Dtype::kBFloat16};
  const std::vector<RowRun> runs{{{1, 3}, {0, 1}}};
  ASSERT_EQ(Backend::packed_bytes(view, runs), 8);
  std::vector<uint16_t> packed(4);
  make_cpu_backend(1)->pack_rows(view, runs, reinterpret_cast<std::byte*>(packed.data()));
  EXPECT_THAT(packed, ElementsAre(3, 4, 5, 6));
}

TEST(RowOps, AddAddsARunAsOftenAsItIsNamed) {
  TestRows target(3, 2, 2, 1, 0);
  target.set(place);
  const std::vector<RowRun> runs{{{1, 2}, {1, 2}}, {{1, 2}, {1, 2}}, {{2, 3}, {0, 2}}};
  std::vector<float> packed{1, 2, 10, 20, 5, 6, 7, 8};
  make_cpu_backend(2)->add_rows(bytes_of(packed), Dtype::kFloat32, runs, target.view);
  EXPECT_THAT(as_doubles(target.view),
              ElementsAre(0, 1, 10, 11, 100, 101, 121, 133, 205, 207, 217, 219));
}

TEST(RowOps, FillAndRowDotTouchOnlyTheirElements) {
  TestRows rows(3, 2, 3, 2, 1), delta(3, 2, 1, 1, 0);
  make_cpu_backend(1)->fill(rows.view, 2.5f);
  for (const double x : as_doubles(rows.view)) EXPECT_EQ(x, 2.5);
  int gaps = 0;
  for (const float x : rows.memory) gaps += std::isnan(x);
  EXPECT_EQ(gaps, 3 * (2 * 2 + 1));
  make_cpu_backend(1)->row_dot(rows.view, rows.view, delta.view);
  EXPECT_THAT(as_doubles(delta.view), testing::Each(3 * 2.5 * 2.5));
}

TEST(RowOps, RowDotAgreesWithDoubleForOddDims) {
  Rng rng(6);
  for (const int64_t dim : {1, 7, 8, 19, 128}) {
    const TestRows a = random_rows(rng, 5, 3, dim, true), b = random_rows(rng, 5, 3, dim, true);
    TestRows delta(5, 3, 1);
    make_cpu_backend(1)->row_dot(a.view, b.view, delta.view);
    std::vector<double> expected;
    const std::vector<double> x = as_doubles(a.view), y = as_doubles(b.view);
    for (size_t i = 0; i < x.size(); ++i) {
      if (i % static_cast<size_t>(dim) == 0) expected.push_back(0);
      expected.back() += x[i] * y[i];
    }
    EXPECT_TRUE(rows_close(delta.view, expected, 0x1p-24 * 30)) << "dim " << dim;
  }
}

/// One row, one head.
struct Partial {
  std::vector<float> o;
  float lse;
};

Partial merged(Partial into, Partial from) {
  const auto dim = static_cast<int64_t>(into.o.size());
  const std::vector<RowRun> runs{{{0, 1}, {0, 1}}};
  make_cpu_backend(1)->merge_rows(
      bytes_of(from.o), Dtype::kFloat32, reinterpret_cast<const std::byte*>(&from.lse), runs,
      contiguous_rows(into.o.data(), 1, 1, dim), contiguous_rows(&into.lse, 1, 1, 1));
  return into;
}

TEST(MergeRows, IntoNothingTakesThePartialBitForBit) {
  const Partial both = merged({{0, 0}, -kInfinity}, {{3, 5}, 0.7f});
  EXPECT_THAT(both.o, ElementsAre(3, 5));
  EXPECT_EQ(both.lse, 0.7f);
  const Partial garbage = merged({{std::nanf(""), 0}, -kInfinity}, {{3, 5}, 0.7f});
  EXPECT_THAT(garbage.o, ElementsAre(3, 5));
}

TEST(MergeRows, OfNothingLeavesTheTargetBitForBit) {
  const Partial both = merged({{3, 5}, 0.7f}, {{std::nanf(""), 9}, -kInfinity});
  EXPECT_THAT(both.o, ElementsAre(3, 5));
  EXPECT_EQ(both.lse, 0.7f);
  const Partial nothing = merged({{0, 0}, -kInfinity}, {{0, 0}, -kInfinity});
  EXPECT_THAT(nothing.o, ElementsAre(0, 0));
  EXPECT_EQ(nothing.lse, -kInfinity);
}

TEST(MergeRows, WeighsByLogSumExp) {
  const Partial both = merged({{1}, 0}, {{3}, 1.0986122886681098f});
  EXPECT_THAT(both.o, ElementsAre(FloatEq(2.5f)));
  EXPECT_THAT(both.lse, FloatEq(1.3862943611198906f));
  const Partial far = merged({{1}, -200}, {{3}, 200});
  EXPECT_THAT(far.o, ElementsAre(3));
  EXPECT_EQ(far.lse, 200);
  EXPECT_TRUE(std::isnan(merged({{1}, 0}, {{std::nanf("")}, 0}).o[0]));
  EXPECT_TRUE(std::isnan(merged({{1}, 0}, {{1}, std::nanf("")}).lse));
}

TEST(MergeRows, OrdersAndTreesAgreeToRounding) {
  Rng rng(7);
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(cat("seed 7, case ", i));
    std::vector<Partial> p;
    for (int n = 0; n < 4; ++n) p.push_back({{uniform(rng, -1, 1)}, uniform(rng, -3, 3)});
    const Partial chain = merged(merged(merged(p[0], p[1]), p[2]), p[3]);
    const Partial back = merged(merged(merged(p[3], p[2]), p[1]), p[0]);
    const Partial tree = merged(merged(p[0], p[1]), merged(p[2], p[3]));
    for (const Partial* other : {&back, &tree}) {
      EXPECT_NEAR(chain.o[0], other->o[0], 8 * 0x1p-24);
      EXPECT_NEAR(chain.lse, other->lse, 8 * 4 * 0x1p-24);
    }
  }
}

TEST(MergeRows, WalksRunsOfRowsAndHeads) {
  TestRows o(4, 3, 2, 1, 1), lse(4, 3, 1);
  lse.set([](int64_t, int64_t, int64_t) { return -kInfinity; });
  const std::vector<RowRun> runs{{{2, 4}, {1, 3}}, {{0, 1}, {0, 1}}};
  std::vector<float> packed_o, packed_lse;
  for (int i = 0; i < 10; ++i) packed_o.push_back(static_cast<float>(i));
  for (int i = 0; i < 5; ++i) packed_lse.push_back(static_cast<float>(100 + i));
  make_cpu_backend(1)->merge_rows(bytes_of(packed_o), Dtype::kFloat32, bytes_of(packed_lse), runs,
                                  o.view, lse.view);
  EXPECT_EQ(o.view.f32(3, 1)[1], 5);
  EXPECT_EQ(o.view.f32(0, 0)[0], 8);
  EXPECT_EQ(*lse.view.f32(3, 2), 103);
  EXPECT_EQ(*lse.view.f32(0, 0), 104);
  EXPECT_EQ(*lse.view.f32(1, 1), -kInfinity);
}

}  // namespace
}  // namespace cadenza
