#include "kernels/finite_differences.h"
#include "kernels/reference/attention_by_definition.h"

namespace cadenza {
namespace {

/// Beside the kernel's rounding, the truncation of differences over a step of 2^-10.
constexpr double kTruncation = 5e-6;

class AttentionGradient : public EveryIsa {
 protected:
  /// A window of four keys whose last query sees the last key.
  static AttentionCase small_case(int64_t q_rows, int64_t kv_rows) {
    Rng rng(51);
    AttentionCase c = make_case(rng, {4, 2, 16, 8, 0.3f}, q_rows, kv_rows, false);
    for (TestRows* rows : {&c.q, &c.k, &c.v}) round_to_steps(*rows);
    for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) set_all(*rows, 0);
    c.tasks = {whole_task(c, window(q_rows, kv_rows))};
    return c;
  }
  static Band window(int64_t q_rows, int64_t kv_rows) {
    return {kv_rows - q_rows - 3, kv_rows - q_rows};
  }
  static DefinedAttention defined(const AttentionCase& c) {
    const Band band = window(c.q.view.rows, c.k.view.rows);
    DefinedAttention out{.shape = c.shape, .q = c.q.view, .k = c.k.view, .v = c.v.view};
    out.sees = [band](int64_t q, int64_t k) {
      return k - q >= band.lowest && k - q <= band.highest;
    };
    return out;
  }
  static void expect_differences(const AttentionCase& c, const DefinedAttention& attention) {
    const auto loss = [&] { return inner_product(defined_forward(attention).o, c.d_o.view); };
    const double tolerance = kTruncation + backward_tolerance(24, 16);
    EXPECT_TRUE(rows_close(c.dq.view, central_differences(c.q, loss), tolerance));
    EXPECT_TRUE(rows_close(c.dk.view, central_differences(c.k, loss), tolerance));
    EXPECT_TRUE(rows_close(c.dv.view, central_differences(c.v, loss), tolerance));
  }
};

TEST_P(AttentionGradient, AgreesWithFiniteDifferencesOfTheDefinition) {
  for (const auto& [q_rows, kv_rows] : {std::pair<int64_t, int64_t>{3, 7}, {6, 6}, {7, 3}}) {
    SCOPED_TRACE(cat(q_rows, " queries, ", kv_rows, " keys"));
    AttentionCase c = small_case(q_rows, kv_rows);
    forward_and_backward(c, *backend());
    expect_differences(c, defined(c));
  }
}

TEST_P(AttentionGradient, WithSinksAgreesWithFiniteDifferencesOfTheDefinition) {
  AttentionCase c = small_case(6, 6);
  Rng rng(52);
  TestRows sinks = random_rows(rng, 1, 4, 1, false, -1, 3), d_sinks(1, 4, 1);
  round_to_steps(sinks);
  const auto kernels = backend();
  kernels->attention_forward(c.forward());
  kernels->apply_sinks(sinks.view, c.o.view, c.lse.view);
  kernels->row_dot(c.d_o.view, c.o.view, c.delta.view);
  kernels->add_sink_gradients(sinks.view, c.lse.view, c.delta.view, d_sinks.view);
  BackwardArgs args = c.backward();
  args.lse = c.lse.view;
  kernels->attention_backward(args);

  DefinedAttention attention = defined(c);
  attention.sinks = as_doubles(sinks.view);
  expect_differences(c, attention);
  const auto loss = [&] {
    attention.sinks = as_doubles(sinks.view);
    return inner_product(defined_forward(attention).o, c.d_o.view);
  };
  EXPECT_TRUE(rows_close(d_sinks.view, central_differences(sinks, loss),
                         kTruncation + backward_tolerance(24, 16)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, AttentionGradient, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
