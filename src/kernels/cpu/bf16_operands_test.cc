// Kernels whose products take bf16 operands (dot-product and tile instructions), by this processor
// or emulated, against the double reference on the same bf16 rows.
#include <cmath>

#include "kernels/bf16_rows.h"
#include "kernels/random_attention.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20240620;

std::vector<std::string> isas_with_bf16_operands() {
  std::vector<std::string> names;
  for (const std::string& isa : isas_and_emulated_ones()) {
    if (cpu::isa_named(isa).bf16->operands == std::string("bf16")) names.push_back(isa);
  }
  return names;
}

class Bf16Operands : public EveryIsa {
 protected:
  const Bf16Tolerance tolerance_ = bf16_tolerance(GetParam(), {});
};

AttentionCase bf16_case(Rng& rng) {
  AttentionCase c = random_case(rng);
  for (TestRows* rows : {&c.q, &c.k, &c.v, &c.d_o}) round_to_bf16(*rows);
  return c;
}

TEST_P(Bf16Operands, ForwardAgreesWithTheDoubleReference) {
  Rng rng(kSeed);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(cat("seed ", kSeed, ", case ", i));
    const AttentionCase c = bf16_case(rng);
    const Bf16Rows q(c.q), k(c.k), v(c.v);
    const ReferenceForward expected = reference_forward(c.forward());
    ForwardArgs args = c.forward();
    args.q = q.view, args.k = k.view, args.v = v.view;
    backend()->attention_forward(args);
    ASSERT_TRUE(rows_close(c.o.view, expected.o, tolerance_.o));
    ASSERT_TRUE(rows_close(c.lse.view, expected.lse, tolerance_.lse));
  }
}

TEST_P(Bf16Operands, BackwardAgreesWithTheDoubleReference) {
  Rng rng(kSeed + 1);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(cat("seed ", kSeed + 1, ", case ", i));
    const AttentionCase c = bf16_case(rng);
    const Bf16Rows q(c.q), k(c.k), v(c.v), d_o(c.d_o);
    const ReferenceBackward expected = reference_backward(c.backward());
    BackwardArgs args = c.backward();
    args.q = q.view, args.k = k.view, args.v = v.view;
    if (i % 2 == 0) args.d_o = d_o.view;
    backend()->attention_backward(args);
    ASSERT_TRUE(rows_close(c.dq.view, expected.dq, tolerance_.gradient));
    ASSERT_TRUE(rows_close(c.dk.view, expected.dk, tolerance_.gradient));
    ASSERT_TRUE(rows_close(c.dv.view, expected.dv, tolerance_.gradient));
  }
}

// Rows beyond several blocks of keys, tiles and buffers of every kernel.
TEST_P(Bf16Operands, ALongDocumentAgreesAndItsBitsDoNotDependOnThreads) {
  const AttentionShape shape{
      .heads = 3, .kv_heads = 1, .head_dim = 40, .v_head_dim = 24, .scale = 0.2f};
  std::vector<std::vector<float>> bits;
  for (const int threads : {1, 3}) {
    Rng rng(kSeed + 2);
    AttentionCase c = make_case(rng, shape, 1100, 1300, false);
    for (TestRows* rows : {&c.q, &c.k, &c.v, &c.d_o}) round_to_bf16(*rows);
    c.tasks = {whole_task(c, causal_bottom_right(1100, 1300))};
    const Bf16Rows q(c.q), k(c.k), v(c.v), d_o(c.d_o);
    ForwardArgs forward = c.forward();
    BackwardArgs backward = c.backward();
    forward.q = backward.q = q.view, forward.k = backward.k = k.view;
    forward.v = backward.v = v.view, backward.d_o = d_o.view;
    if (bits.empty()) {
      const ReferenceForward expected = reference_forward(c.forward());
      const ReferenceBackward gradients = reference_backward(c.backward());
      backend(threads)->attention_forward(forward);
      backend(threads)->attention_backward(backward);
      EXPECT_TRUE(rows_close(c.o.view, expected.o, tolerance_.o));
      EXPECT_TRUE(rows_close(c.dq.view, gradients.dq, tolerance_.gradient));
      EXPECT_TRUE(rows_close(c.dk.view, gradients.dk, tolerance_.gradient));
      EXPECT_TRUE(rows_close(c.dv.view, gradients.dv, tolerance_.gradient));
    } else {
      backend(threads)->attention_forward(forward);
      backend(threads)->attention_backward(backward);
    }
    for (const TestRows* rows : {&c.o, &c.lse, &c.dq, &c.dk, &c.dv}) bits.push_back(rows->memory);
  }
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(bits[i], bits[i + 5]) << i;
}

// A masked zero times a NaN is a NaN: rows of one document must not reach another's.
TEST_P(Bf16Operands, ANanStaysWithTheRowsThatSeeIt) {
  Rng rng(kSeed + 3);
  AttentionCase c =
      make_case(rng, {.heads = 4, .kv_heads = 2, .head_dim = 24, .v_head_dim = 24, .scale = 0.2f},
                60, 60, false);
  for (int64_t begin = 0; begin < 60; begin += 20) {
    AttentionTask task = whole_task(c, {Band::kUnboundedBelow, 0});
    task.q_begin = task.kv_begin = begin;
    task.q_rows = task.kv_rows = 20;
    c.tasks.push_back(task);
  }
  c.row_lse.set([](int64_t, int64_t, int64_t) { return 4.0f; });
  for (TestRows* rows : {&c.q, &c.k, &c.v, &c.d_o}) {
    for (int64_t head = 0; head < rows->view.heads; ++head) {
      rows->view.f32(25, head)[3] = std::nanf("");
    }
  }
  const Bf16Rows q(c.q), k(c.k), v(c.v), d_o(c.d_o);
  ForwardArgs forward = c.forward();
  BackwardArgs backward = c.backward();
  forward.q = backward.q = q.view, forward.k = backward.k = k.view;
  forward.v = backward.v = v.view, backward.d_o = d_o.view;
  backend()->attention_forward(forward);
  backend()->attention_backward(backward);
  const auto has_nan = [](const TestRows& rows, int64_t row) {
    for (int64_t head = 0; head < rows.view.heads; ++head) {
      for (int64_t d = 0; d < rows.view.dim; ++d) {
        if (std::isnan(rows.view.f32(row, head)[d])) return true;
      }
    }
    return false;
  };
  for (int64_t row = 0; row < 60; ++row) {
    const bool sees = row >= 25 && row < 40;   // queries from the NaN on
    const bool seen = row >= 20 && row <= 25;  // keys up to it
    EXPECT_EQ(has_nan(c.o, row), sees) << row;
    EXPECT_EQ(has_nan(c.dq, row), sees) << row;
    EXPECT_EQ(has_nan(c.dk, row), seen) << row;
    EXPECT_EQ(has_nan(c.dv, row), seen) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Bf16Operands, testing::ValuesIn(isas_with_bf16_operands()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
