#include "kernels/reference/attention_by_definition.h"

#include "kernels/finite_differences.h"

namespace cadenza {
namespace {

/// Window of three keys; row 0 of five sees key 2 at most.
struct SmallCase {
  AttentionCase c;
  DefinedAttention a;

  SmallCase() {
    Rng rng(31);
    c = make_case(rng, {4, 2, 3, 2, 0.6f}, 5, 7, true);
    for (TestRows* rows : {&c.q, &c.k, &c.v}) round_to_steps(*rows);
    a = {.shape = c.shape, .q = c.q.view, .k = c.k.view, .v = c.v.view};
    a.sees = [](int64_t q, int64_t k) { return k <= q + 2 && k >= q; };
    a.sinks = {0.5, -1.25, 2, 0};
  }
};

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double difference) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], difference) << "element " << i;
}

TEST(AttentionByDefinition, GradientsAgreeWithFiniteDifferences) {
  SmallCase s;
  const auto loss = [&] { return inner_product(defined_forward(s.a).o, s.c.d_o.view); };
  const DefinedGradients gradients = defined_backward(s.a, s.c.d_o.view);
  constexpr double kTruncation = 3e-6;
  expect_near(gradients.dq, central_differences(s.c.q, loss), kTruncation);
  expect_near(gradients.dk, central_differences(s.c.k, loss), kTruncation);
  expect_near(gradients.dv, central_differences(s.c.v, loss), kTruncation);
  for (size_t head = 0; head < 4; ++head) {
    const double sink = s.a.sinks[head];
    s.a.sinks[head] = sink + 1e-3;
    const double above = loss();
    s.a.sinks[head] = sink - 1e-3;
    EXPECT_NEAR(gradients.d_sinks[head], (above - loss()) / 2e-3, kTruncation) << "head " << head;
    s.a.sinks[head] = sink;
  }
}

TEST(AttentionByDefinition, WithoutSinksAgreesWithTheReferenceOfTasks) {
  SmallCase s;
  s.a.sinks.clear();
  s.c.tasks = {whole_task(s.c, Band{0, 2})};
  const ReferenceForward defined = defined_forward(s.a), tasks = reference_forward(s.c.forward());
  expect_near(defined.o, tasks.o, 1e-14);
  expect_near(defined.lse, tasks.lse, 1e-14);
}

TEST(AttentionByDefinition, ASinkIsAColumnOfTheSoftmaxWithoutAValue) {
  // Two equal scores of 0 and a sink of ln 2: half of the probability is the sink's.
  AttentionShape shape{.heads = 1, .kv_heads = 1, .head_dim = 1, .v_head_dim = 1, .scale = 1};
  TestRows q(1, 1, 1), k(2, 1, 1), v(2, 1, 1);
  v.set([](int64_t row, int64_t, int64_t) { return static_cast<float>(1 + row); });
  DefinedAttention a{shape, q.view, k.view, v.view, [](int64_t, int64_t) { return true; }, {}};
  a.sinks = {std::log(2.0)};
  EXPECT_DOUBLE_EQ(defined_forward(a).o[0], 0.75);
  EXPECT_DOUBLE_EQ(defined_forward(a).lse[0], std::log(4.0));
  a.sees = [](int64_t, int64_t) { return false; };
  EXPECT_EQ(defined_forward(a).o[0], 0);
  EXPECT_EQ(defined_forward(a).lse[0], a.sinks[0]);
  a.sinks.clear();
  EXPECT_EQ(defined_forward(a).lse[0], -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace cadenza
