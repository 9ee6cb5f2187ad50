#include <gmock/gmock.h>

#include <limits>

#include "base/error.h"
#include "kernels/attention_case_test.h"
#include "kernels/reference/attention_by_definition.h"

namespace cadenza {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class PackedCases : public EveryIsa {};

TEST_P(PackedCases, OneTokenQueriesBetweenEmptySequencesReadTheirOwnKeys) {
  constexpr int64_t kQRows[] = {0, 1, 0, 1}, kKvRows[] = {0, 3, 0, 5};
  Rng rng(41);
  AttentionCase c = make_case(rng, {9, 3, 64, 64, 0.125f}, 2, 8, false);
  for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) set_all(*rows, 0);
  for (int64_t i = 0, q = 0, kv = 0; i < 4; q += kQRows[i], kv += kKvRows[i], ++i) {
    AttentionTask task = whole_task(c, causal_bottom_right(kQRows[i], kKvRows[i]));
    task.q_begin = q, task.q_rows = kQRows[i], task.kv_begin = kv, task.kv_rows = kKvRows[i];
    c.tasks.push_back(task);
  }
  const auto sees = [](int64_t q, int64_t k) { return (q == 0) == (k < 3); };
  const DefinedAttention defined{c.shape, c.q.view, c.k.view, c.v.view, sees, {}};
  forward_and_backward(c, *backend());
  const DefinedGradients gradients = defined_backward(defined, c.d_o.view);
  EXPECT_TRUE(rows_close(c.o.view, defined_forward(defined).o, forward_tolerance(5, 64)));
  EXPECT_TRUE(rows_close(c.dq.view, gradients.dq, backward_tolerance(9, 64)));
  EXPECT_TRUE(rows_close(c.dk.view, gradients.dk, backward_tolerance(9, 64)));
  EXPECT_TRUE(rows_close(c.dv.view, gradients.dv, backward_tolerance(9, 64)));
}

TEST_P(PackedCases, QueriesOverABufferWithoutKeysAreZeroWhateverWasThere) {
  Rng rng(42);
  AttentionCase c = make_case(rng, {2, 1, 16, 16, 0.25f}, 3, 0, false);
  for (TestRows* rows : {&c.o, &c.lse}) set_all(*rows, std::nanf(""));
  set_all(c.dq, 0);
  c.tasks = {whole_task(c, causal_bottom_right(3, 0))};
  forward_and_backward(c, *backend());
  EXPECT_THAT(as_doubles(c.o.view), testing::Each(0.0));
  EXPECT_THAT(as_doubles(c.lse.view), testing::Each(-kInfinity));
  EXPECT_THAT(as_doubles(c.dq.view), testing::Each(0.0));
}

/// Seven tokens, q = k = v, four of ones and three of twos, then a row of 100 that nobody may see.
AttentionCase seven_tokens() {
  Rng rng(43);
  AttentionCase c = make_case(rng, {1, 1, 8, 8, 1 / std::sqrt(8.0f)}, 8, 8, false);
  for (TestRows* rows : {&c.q, &c.k, &c.v}) {
    rows->set([](int64_t row, int64_t, int64_t) {
      return row < 4 ? 1.0f : row < 7 ? 2.0f : 100.0f;
    });
  }
  return c;
}

/// Element 0 of the seven rows.
std::vector<double> seven_of(const TestRows& rows) {
  std::vector<double> out;
  for (int64_t row = 0; row < 7; ++row) out.push_back(*rows.view.f32(row, 0));
  return out;
}

AttentionTask seven_task(Range q, Range kv, Band band, bool merge = false) {
  const int64_t offset = kv.begin - q.begin;
  return {q.begin, q.size(), kv.begin, kv.size(), band.lowest - offset, band.highest - offset,
          0,       1,        merge};
}

TEST_P(PackedCases, AnOddLengthIsNotRoundedDown) {
  const auto expect_rows = [](const TestRows& rows, const std::vector<double>& expected) {
    EXPECT_THAT(seven_of(rows), testing::Pointwise(testing::DoubleNear(2e-6), expected));
  };
  const std::vector<double> causal{1, 1, 1, 1, 1.986218623, 1.993061501, 1.995363611};
  const std::vector<double> lse{2.828427125, 3.521574305,  3.927039413, 4.214721486,
                                11.32758572, 12.013818362, 12.416967959};
  AttentionCase c = seven_tokens();
  c.tasks = {seven_task({0, 7}, {0, 7}, Band::causal())};
  backend()->attention_forward(c.forward());
  expect_rows(c.o, causal);
  expect_rows(c.lse, lse);

  // The same cut for two ranks, 4 + 3 rows, the second's keys in two parts.
  c.tasks = {seven_task({0, 4}, {0, 4}, Band::causal()), seven_task({4, 7}, {0, 4}, Band::causal()),
             seven_task({4, 7}, {4, 7}, Band::causal(), true)};
  backend()->attention_forward(c.forward());
  expect_rows(c.o, causal);
  expect_rows(c.lse, lse);

  c.tasks = {seven_task({0, 4}, {0, 4}, Band::causal()),
             seven_task({4, 7}, {4, 7}, Band::causal())};
  backend()->attention_forward(c.forward());
  expect_rows(c.o, {1, 1, 1, 1, 2, 2, 2});

  c.tasks = {seven_task({0, 7}, {0, 7}, Band::full())};
  backend()->attention_forward(c.forward());
  expect_rows(c.o, {1.926949, 1.926949, 1.926949, 1.926949, 1.995364, 1.995364, 1.995364});
}

/// The rows of `like` with heads outermost: what a transposed tensor looks like.
TestRows transposed(const TestRows& like) {
  TestRows out(like.view.heads, like.view.rows, like.view.dim);
  std::swap(out.view.rows, out.view.heads);
  std::swap(out.view.row_stride, out.view.head_stride);
  out.set([&](int64_t row, int64_t head, int64_t d) { return like.view.f32(row, head)[d]; });
  return out;
}

TEST_P(PackedCases, TransposedViewsGiveTheBitsOfContiguousOnes) {
  Rng rng(44);
  AttentionCase c = make_case(rng, {4, 2, 16, 24, 0.25f}, 70, 70, false), t;
  c.tasks = {whole_task(c, Band::causal())};
  t.shape = c.shape, t.tasks = c.tasks;
  const std::vector<TestRows AttentionCase::*> all{
      &AttentionCase::q,   &AttentionCase::k,       &AttentionCase::v,     &AttentionCase::o,
      &AttentionCase::lse, &AttentionCase::row_lse, &AttentionCase::delta, &AttentionCase::d_o,
      &AttentionCase::dq,  &AttentionCase::dk,      &AttentionCase::dv};
  for (const auto rows : all) t.*rows = transposed(c.*rows);
  forward_and_backward(c, *backend());
  forward_and_backward(t, *backend());
  for (const auto rows : all) EXPECT_EQ(as_doubles((t.*rows).view), as_doubles((c.*rows).view));
}

TEST_P(PackedCases, KeysAndValuesOfDifferentLengthsAreRefused) {
  Rng rng(45);
  AttentionCase c = make_case(rng, {1, 1, 8, 8, 0.35f}, 5, 5, false);
  c.v = TestRows(6, 1, 8);
  c.tasks = {whole_task(c, Band::causal())};
  EXPECT_THROW(backend()->attention_forward(c.forward()), InternalError);
  EXPECT_THROW(backend()->attention_backward(c.backward()), InternalError);
}

INSTANTIATE_TEST_SUITE_P(Cpu, PackedCases, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
