#include "kernels/reference/reference_attention.h"

#include "kernels/finite_differences.h"

namespace cadenza {
namespace {

AttentionCase grid_case() {
  Rng rng(3);
  AttentionCase c = make_case(rng, {4, 2, 3, 2, 0.6f}, 5, 7, false);
  for (TestRows* rows : {&c.q, &c.k, &c.v}) round_to_steps(*rows);
  for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) {
    rows->set([](int64_t, int64_t, int64_t) { return 0.0f; });
  }
  AttentionTask first = whole_task(c, causal_bottom_right(5, 7));
  first.kv_rows = 4, first.highest = 2;
  AttentionTask second = first;
  second.kv_begin = 4, second.kv_rows = 3, second.highest = -2, second.merge = true;
  c.tasks = {first, second};
  return c;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  // The differences' truncation; LSE and delta are rounded to fp32.
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 5e-6) << "element " << i;
}

TEST(ReferenceAttention, BackwardAgreesWithFiniteDifferencesOfTheForward) {
  AttentionCase c = grid_case();
  const ReferenceForward out = reference_forward(c.forward());
  const std::vector<double> d_o = as_doubles(c.d_o.view);
  c.row_lse.set([&](int64_t row, int64_t head, int64_t) {
    return static_cast<float>(out.lse[static_cast<size_t>(row * 4 + head)]);
  });
  c.delta.set([&](int64_t row, int64_t head, int64_t) {
    const size_t at = static_cast<size_t>(row * 4 + head) * 2;
    return static_cast<float>(out.o[at] * d_o[at] + out.o[at + 1] * d_o[at + 1]);
  });
  const auto loss = [&] { return inner_product(reference_forward(c.forward()).o, c.d_o.view); };
  const ReferenceBackward gradients = reference_backward(c.backward());
  expect_near(gradients.dq, central_differences(c.q, loss));
  expect_near(gradients.dk, central_differences(c.k, loss));
  expect_near(gradients.dv, central_differences(c.v, loss));
}

TEST(ReferenceAttention, PartsOfTheKeysMergeToTheWhole) {
  AttentionCase c = grid_case();
  const ReferenceForward parts = reference_forward(c.forward());
  c.tasks = {whole_task(c, causal_bottom_right(5, 7))};
  const ReferenceForward whole = reference_forward(c.forward());
  for (size_t i = 0; i < whole.o.size(); ++i) EXPECT_NEAR(parts.o[i], whole.o[i], 1e-14);
  for (size_t i = 0; i < whole.lse.size(); ++i) EXPECT_NEAR(parts.lse[i], whole.lse[i], 1e-14);
}

}  // namespace
}  // namespace cadenza
