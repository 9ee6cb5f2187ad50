// Attention on bf16 rows, every combination of dtypes that a call may have.
#include <cmath>
#include <cstring>

#include "kernels/bf16_rows.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20240613;

/// The most that rounding to bf16 changes x: half the distance of its neighbours.
double rounding(double x) {
  int exponent = 0;  // |x| lies in [2^(exponent - 1), 2^exponent)
  std::frexp(x, &exponent);
  return std::ldexp(1.0, exponent - 1 - 8);
}

/// A row's keys in several parts that merge, and heads in two, over documents of odd sizes.
AttentionCase split_case(Rng& rng) {
  const AttentionShape shape{
      .heads = 4, .kv_heads = 2, .head_dim = 24, .v_head_dim = 17, .scale = 0.2f};
  AttentionCase c = make_case(rng, shape, 75, 91, true);
  for (TestRows* rows : {&c.q, &c.k, &c.v, &c.d_o}) round_to_bf16(*rows);
  for (const Range heads : {Range{0, 3}, Range{3, 4}}) {
    for (const Range keys : {Range{0, 13}, Range{13, 40}, Range{40, 41}, Range{41, 91}}) {
      AttentionTask task = whole_task(c, {Band::kUnboundedBelow, 16 - keys.begin});
      task.q_begin = 5;
      task.q_rows = 70;
      task.kv_begin = keys.begin;
      task.kv_rows = keys.size();
      task.head_begin = heads.begin;
      task.head_end = heads.end;
      task.merge = keys.begin > 0;
      c.tasks.push_back(task);
    }
  }
  return c;
}

class Bf16Attention : public EveryIsa {};

// One rounding of O to bf16 at the end, however many partials merge: an elementwise bound, which
// rounding each of them would break (where products are fp32: see Bf16Tolerance).
TEST_P(Bf16Attention, ForwardRoundsOnceWhateverTheDtypes) {
  Rng rng(kSeed);
  const AttentionCase c = split_case(rng);
  const ReferenceForward expected = reference_forward(c.forward());
  const double fp32 = forward_tolerance(91, 24);
  const Bf16Tolerance wide{.o = 2 * fp32, .lse = fp32};
  const Bf16Rows q(c.q), k(c.k), v(c.v);
  for (const bool bf16_inputs : {false, true}) {
    for (const bool bf16_output : {false, true}) {
      SCOPED_TRACE(cat("seed ", kSeed, ", inputs ", bf16_inputs, ", output ", bf16_output));
      const Bf16Tolerance tolerance = bf16_inputs ? bf16_tolerance(GetParam(), wide) : wide;
      TestRows lse(75, 4, 1);
      std::memcpy(lse.memory.data(), as_floats(c.lse.view).data(), lse.memory.size() * 4);
      TestRows fp32_rows(75, 4, 17, 1, 2);
      Bf16Rows bf16_rows(fp32_rows);
      const RowsView o = bf16_output ? bf16_rows.view : fp32_rows.view;
      ForwardArgs args = c.forward();
      if (bf16_inputs) args.q = q.view, args.k = k.view, args.v = v.view;
      args.o = o;
      args.lse = lse.view;
      backend(2)->attention_forward(args);
      EXPECT_TRUE(rows_close(lse.view, expected.lse, tolerance.lse));
      const std::vector<double> got = as_doubles(o);
      for (size_t i = 0; i < got.size(); ++i) {
        if (i < 5 * 4 * 17) continue;  // no task names them: below
        const double once = bf16_output ? rounding(expected.o[i]) : 0;
        ASSERT_NEAR(got[i], expected.o[i], once + tolerance.o) << i;
      }
      for (size_t i = 0; i < 5 * 4 * 17; ++i) ASSERT_EQ(got[i], 0) << i;
    }
  }
}

TEST_P(Bf16Attention, RowsThatNoTaskNamesAndGapsKeepTheirBits) {
  Rng rng(kSeed + 1);
  AttentionCase c = split_case(rng);
  const Bf16Rows before(c.o);
  Bf16Rows o(c.o);
  for (AttentionTask& task : c.tasks) task.q_rows = 40;
  ForwardArgs args = c.forward();
  args.o = o.view;
  backend(2)->attention_forward(args);
  const auto row_of = [&](size_t i) { return static_cast<int64_t>(i) / o.view.row_stride; };
  int64_t changed = 0;
  for (size_t i = 0; i < o.memory.size(); ++i) {
    const bool same = o.memory[i] == before.memory[i];
    changed += !same;
    const auto at = static_cast<int64_t>(i) % o.view.row_stride;
    const bool gap = at >= 4 * o.view.head_stride || at % o.view.head_stride >= 17;
    const bool untouched = gap || row_of(i) < 5 || row_of(i) >= 45;
    ASSERT_TRUE(same || !untouched) << i;
  }
  EXPECT_GT(changed, 40 * 4 * 17 * 9 / 10);
}

TEST_P(Bf16Attention, BackwardAddsFp32GradientsWhateverTheDtypes) {
  Rng rng(kSeed + 2);
  const AttentionCase c = split_case(rng);
  const ReferenceBackward expected = reference_backward(c.backward());
  const Bf16Tolerance wide{.gradient = backward_tolerance(91 * 4, 24)};
  const Bf16Rows q(c.q), k(c.k), v(c.v), d_o(c.d_o);
  for (const bool bf16_inputs : {false, true}) {
    for (const bool bf16_gradient : {false, true}) {
      SCOPED_TRACE(cat("seed ", kSeed + 2, ", inputs ", bf16_inputs, ", dO ", bf16_gradient));
      const double gradient = (bf16_inputs ? bf16_tolerance(GetParam(), wide) : wide).gradient;
      TestRows dq(75, 4, 24), dk(91, 2, 24), dv(91, 2, 17);
      BackwardArgs args = c.backward();
      if (bf16_inputs) args.q = q.view, args.k = k.view, args.v = v.view;
      if (bf16_gradient) args.d_o = d_o.view;
      const std::pair<TestRows*, RowsView*> sums[] = {
          {&dq, &args.dq}, {&dk, &args.dk}, {&dv, &args.dv}};
      for (const auto& [sum, argument] : sums) {
        const std::vector<float> start = as_floats(*argument);
        std::memcpy(sum->memory.data(), start.data(), start.size() * 4);
        *argument = sum->view;
      }
      backend(2)->attention_backward(args);
      EXPECT_TRUE(rows_close(dq.view, expected.dq, gradient));
      EXPECT_TRUE(rows_close(dk.view, expected.dk, gradient));
      EXPECT_TRUE(rows_close(dv.view, expected.dv, gradient));
    }
  }
}

TEST_P(Bf16Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<BFloat16>> outputs;
  for (const int threads : {1, 2, 3}) {
    Rng rng(kSeed + 3);
    const AttentionCase c = split_case(rng);
    const Bf16Rows q(c.q), k(c.k), v(c.v);
    Bf16Rows o{TestRows(75, 4, 17)};
    ForwardArgs args = c.forward();
    args.q = q.view, args.k = k.view, args.v = v.view, args.o = o.view;
    backend(threads)->attention_forward(args);
    outputs.push_back(o.memory);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_EQ(outputs[0], outputs[2]);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Bf16Attention, testing::ValuesIn(isas_and_emulated_ones()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
