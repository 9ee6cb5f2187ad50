#include "kernels/reference/attention_by_definition.h"

#include "kernels/attention_case.h"

namespace cadenza {
namespace {

/// Inputs on a grid of 2^-10, so that adding or taking the step of 2^-10 is exact in fp32.
constexpr float kStep = 0x1p-10f;

/// Window of three keys; row 0 of five sees key 2 at most.
struct SmallCase {
  AttentionCase c;
  DefinedAttention a;

  SmallCase() {
    Rng rng(31);
    c = make_case(rng, {4, 2, 3, 2, 0.6f}, 5, 7, true);
    for (TestRows* rows : {&c.q, &c.k, &c.v}) {
      rows->set([&](int64_t row, int64_t head, int64_t d) {
        return std::round(rows->view.f32(row, head)[d] / kStep) * kStep;
      });
    }
    a = {.shape = c.shape, .q = c.q.view, .k = c.k.view, .v = c.v.view};
    a.sees = [](int64_t q, int64_t k) { return k <= q + 2 && k >= q; };
    a.sinks = {0.5, -1.25, 2, 0};
  }
  double loss() const {
    const std::vector<double> o = defined_forward(a).o, d_o = as_doubles(c.d_o.view);
    double sum = 0;
    for (size_t i = 0; i < o.size(); ++i) sum += o[i] * d_o[i];
    return sum;
  }
  template <typename T>
  double central_difference(T& element) const {
    const T middle = element;
    element = middle + static_cast<T>(kStep);
    const double above = loss();
    element = middle - static_cast<T>(kStep);
    const double below = loss();
    element = middle;
    return (above - below) / (2 * static_cast<double>(kStep));
  }
  std::vector<double> central_differences(const TestRows& x) const {
    std::vector<double> out;
    for (int64_t row = 0; row < x.view.rows; ++row) {
      for (int64_t head = 0; head < x.view.heads; ++head) {
        for (int64_t d = 0; d < x.view.dim; ++d) {
          out.push_back(central_difference(x.view.f32(row, head)[d]));
        }
      }
    }
    return out;
  }
};

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double difference) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], difference) << "element " << i;
}

// Truncation is about step² = 1e-6 times a third derivative near 1.
constexpr double kTruncation = 3e-6;

TEST(AttentionByDefinition, GradientsAgreeWithFiniteDifferences) {
  SmallCase s;
  const DefinedGradients gradients = defined_backward(s.a, s.c.d_o.view);
  expect_near(gradients.dq, s.central_differences(s.c.q), kTruncation);
  expect_near(gradients.dk, s.central_differences(s.c.k), kTruncation);
  expect_near(gradients.dv, s.central_differences(s.c.v), kTruncation);
  std::vector<double> d_sinks;
  for (double& sink : s.a.sinks) d_sinks.push_back(s.central_difference(sink));
  expect_near(gradients.d_sinks, d_sinks, kTruncation);
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
