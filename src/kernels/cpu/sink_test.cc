#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernels/attention_case_test.h"
#include "kernels/reference/attention_by_definition.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20250917;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using testing::ElementsAre;
using testing::FloatEq;

/// Keys of all rows split into parts that are computed apart, as servers do, then merged.
struct SplitKeys {
  AttentionCase c;
  Band band;
  TestRows sinks, d_sinks;
  std::vector<AttentionTask> parts;  // in the order of merging

  explicit SplitKeys(Rng& rng) {
    const int64_t kv_heads = uniform_between(rng, 1, 3), ratio = uniform_between(rng, 1, 4);
    const int64_t dim = 8 * uniform_between(rng, 1, 10), v_dim = 8 * uniform_between(rng, 1, 10);
    const AttentionShape shape{kv_heads * ratio, kv_heads, dim, v_dim,
                               1 / std::sqrt(static_cast<float>(dim))};
    const int64_t q_rows = uniform_between(rng, 1, 60), kv_rows = uniform_between(rng, 1, 90);
    c = make_case(rng, shape, q_rows, kv_rows, true);
    for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) {
      rows->set([](int64_t, int64_t, int64_t) { return 0.0f; });
    }
    // Often some first rows see nothing.
    band = {uniform_below(rng, 2) == 0 ? Band::kUnboundedBelow : -uniform_between(rng, 0, q_rows),
            kv_rows - q_rows - uniform_between(rng, 0, 5)};
    // Negligible, of the scores' size, and above all scores.
    sinks = random_rows(rng, 1, shape.heads, 1, true, -6, 12);
    d_sinks = random_rows(rng, 1, shape.heads, 1, true);
    split(rng, kv_rows);
  }
  void split(Rng& rng, int64_t kv_rows) {
    const int64_t count = uniform_between(rng, 1, 5);
    for (int64_t i = 0, begin = 0; i < count; ++i) {
      const int64_t end = i + 1 == count ? kv_rows : uniform_between(rng, begin, kv_rows);
      AttentionTask task = whole_task(c, {band.lowest - begin, band.highest - begin});
      task.kv_begin = begin, task.kv_rows = end - begin;
      parts.push_back(task);
      begin = end;
    }
    shuffle(parts, rng);
  }
  DefinedAttention defined() const {
    DefinedAttention out{.shape = c.shape, .q = c.q.view, .k = c.k.view, .v = c.v.view};
    out.sees = [band = band](int64_t q, int64_t k) {
      return k - q >= band.lowest && k - q <= band.highest;
    };
    out.sinks = as_doubles(sinks.view);
    return out;
  }
  double forward_bound() const { return forward_tolerance(c.k.view.rows, c.shape.head_dim); }
  double backward_bound() const {
    const int64_t rows = std::max(c.k.view.rows, c.q.view.rows * c.shape.heads);
    return backward_tolerance(rows, std::max(c.shape.head_dim, c.shape.v_head_dim));
  }
};

class Sinks : public EveryIsa {
 protected:
  /// Every part as its own call into its own buffers, merged as a home merges what servers send.
  static void forward_merged(SplitKeys& split, Backend& backend) {
    AttentionCase& c = split.c;
    backend.fill(c.o.view, 0);
    backend.fill(c.lse.view, -kInfinity);
    for (const AttentionTask& part : split.parts) {
      TestRows o(c.o.view.rows, c.o.view.heads, c.o.view.dim),
          lse(c.o.view.rows, c.o.view.heads, 1);
      const std::vector<AttentionTask> tasks{part};
      backend.attention_forward({c.shape, tasks, c.q.view, c.k.view, c.v.view, o.view, lse.view});
      const std::vector<RowRun> all{{{0, c.o.view.rows}, {0, c.o.view.heads}}};
      backend.merge_rows(reinterpret_cast<const std::byte*>(o.memory.data()), Dtype::kFloat32,
                         reinterpret_cast<const std::byte*>(lse.memory.data()), all, c.o.view,
                         c.lse.view);
    }
    backend.apply_sinks(split.sinks.view, c.o.view, c.lse.view);
  }
  /// The kernels as they are, given the LSE and delta of the rows with their sinks.
  static void backward(SplitKeys& split, Backend& backend) {
    AttentionCase& c = split.c;
    backend.row_dot(c.d_o.view, c.o.view, c.delta.view);
    backend.add_sink_gradients(split.sinks.view, c.lse.view, c.delta.view, split.d_sinks.view);
    c.tasks = split.parts;
    BackwardArgs args = c.backward();
    args.lse = c.lse.view;
    backend.attention_backward(args);
  }
};

TEST_P(Sinks, AppliedOnceAfterMergingAreTheSoftmaxWithASinkForAnySplitOfKeys) {
  Rng rng(kSeed);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(cat("seed ", kSeed, ", case ", i));
    SplitKeys split(rng);
    std::vector<double> d_sinks = as_doubles(split.d_sinks.view);
    const DefinedAttention defined = split.defined();
    const ReferenceForward expected = defined_forward(defined);
    const DefinedGradients gradients = defined_backward(defined, split.c.d_o.view);
    forward_merged(split, *backend());
    ASSERT_TRUE(rows_close(split.c.o.view, expected.o, split.forward_bound()));
    ASSERT_TRUE(rows_close(split.c.lse.view, expected.lse, split.forward_bound()));
    backward(split, *backend());
    ASSERT_TRUE(rows_close(split.c.dq.view, gradients.dq, split.backward_bound()));
    ASSERT_TRUE(rows_close(split.c.dk.view, gradients.dk, split.backward_bound()));
    ASSERT_TRUE(rows_close(split.c.dv.view, gradients.dv, split.backward_bound()));
    for (size_t h = 0; h < d_sinks.size(); ++h) d_sinks[h] += gradients.d_sinks[h];
    ASSERT_TRUE(rows_close(split.d_sinks.view, d_sinks, split.backward_bound()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Sinks, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

/// Rows of one head, with LSEs `lse` and O of ones.
struct SinkRows {
  TestRows sinks, o, lse, delta, d_sinks;

  SinkRows(const std::vector<float>& lses, float sink)
      : sinks(1, 1, 1),
        o(static_cast<int64_t>(lses.size()), 1, 2, 1, 1),
        lse(o.view.rows, 1, 1),
        delta(o.view.rows, 1, 1),
        d_sinks(1, 1, 1) {
    sinks.memory[0] = sink;
    lse.memory = lses;
    lse.view.data = lse.memory.data();
    o.set([](int64_t, int64_t, int64_t) { return 1.0f; });
    delta.set([](int64_t row, int64_t, int64_t) { return static_cast<float>(row + 1); });
  }
  void apply() { make_cpu_backend(1)->apply_sinks(sinks.view, o.view, lse.view); }
  void add_gradients() {
    make_cpu_backend(1)->add_sink_gradients(sinks.view, lse.view, delta.view, d_sinks.view);
  }
};

TEST(ApplySinks, WeighsByLogSumExpAndTakesWholeRowsThatSawNoKey) {
  SinkRows rows({0, 1.0986122886681098f, -kInfinity, -200, 300}, 0);
  rows.o.view.f32(2, 0)[1] = std::nanf("");  // what such a row held does not show
  rows.apply();
  EXPECT_THAT(rows.lse.memory,
              ElementsAre(FloatEq(0.6931471805599453f), FloatEq(1.3862943611198906f), 0, 0, 300));
  const auto o = as_doubles(rows.o.view);
  EXPECT_THAT(
      o, ElementsAre(0.5, 0.5, 0.75f, 0.75f, 0, 0, testing::Lt(1e-37), testing::Lt(1e-37), 1, 1));
}

TEST(ApplySinks, OfMinusInfinityChangeNoBit) {
  SinkRows rows({0.1f, -kInfinity, 7}, -kInfinity);
  rows.o.view.f32(1, 0)[0] = rows.o.view.f32(2, 0)[1] = std::nanf("");
  const auto o = rows.o.memory, lse = rows.lse.memory;
  rows.apply();
  EXPECT_EQ(std::memcmp(o.data(), rows.o.memory.data(), o.size() * sizeof(float)), 0);
  EXPECT_EQ(lse, rows.lse.memory);
  rows.d_sinks.memory[0] = 0.3f;
  rows.add_gradients();
  EXPECT_EQ(rows.d_sinks.memory[0], 0.3f);
}

TEST(ApplySinks, KeepANanInItsRowAndHead) {
  TestRows sinks(1, 2, 1), o(3, 2, 2), lse(3, 2, 1), delta(3, 2, 1), d_sinks(1, 2, 1);
  *lse.view.f32(1, 0) = o.view.f32(2, 1)[0] = std::nanf("");
  make_cpu_backend(1)->apply_sinks(sinks.view, o.view, lse.view);
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t head = 0; head < 2; ++head) {
      EXPECT_EQ(std::isnan(*lse.view.f32(row, head)), row == 1 && head == 0);
      EXPECT_EQ(std::isnan(o.view.f32(row, head)[1]), row == 1 && head == 0);
    }
  }
  make_cpu_backend(1)->add_sink_gradients(sinks.view, lse.view, delta.view, d_sinks.view);
  EXPECT_TRUE(std::isnan(d_sinks.memory[0]));
  EXPECT_EQ(d_sinks.memory[1], 0);
}

TEST(ApplySinks, GradientIsTheSinksProbabilityTimesDeltaAddedToWhatIsThere) {
  SinkRows rows({0, 0.6931471805599453f, 500}, 0);  // LSEs with the sink: it holds 1, 1/2 and 0
  rows.d_sinks.memory[0] = 10;
  rows.add_gradients();
  EXPECT_THAT(rows.d_sinks.memory[0], FloatEq(10 - (1 * 1 + 0.5f * 2)));
}

TEST(ApplySinks, GiveTheSameBitsForAnyNumberOfThreadsAndSumLongColumnsWell) {
  constexpr int64_t kRows = 5000, kHeads = 3;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3, 5}) {
    Rng rng(kSeed + 1);
    TestRows sinks = random_rows(rng, 1, kHeads, 1, true),
             o = random_rows(rng, kRows, kHeads, 8, true);
    TestRows lse = random_rows(rng, kRows, kHeads, 1, true, 1, 5), d_sinks(1, kHeads, 1);
    TestRows delta = random_rows(rng, kRows, kHeads, 1, true);
    const auto backend = make_cpu_backend(threads);
    backend->apply_sinks(sinks.view, o.view, lse.view);
    backend->add_sink_gradients(sinks.view, lse.view, delta.view, d_sinks.view);
    std::vector<float>& all = results.emplace_back(d_sinks.memory);
    for (const TestRows* rows : {&o, &lse}) {
      for (const double x : as_doubles(rows->view)) all.push_back(static_cast<float>(x));
    }
    EXPECT_EQ(all, results[0]) << threads << " threads, seed " << kSeed + 1;
    std::vector<double> expected(kHeads);
    for (int64_t i = 0; i < kRows * kHeads; ++i) {
      const int64_t row = i / kHeads, head = i % kHeads;
      const double probability =
          std::exp(static_cast<double>(*sinks.view.f32(0, head)) - *lse.view.f32(row, head));
      expected[static_cast<size_t>(head)] -= probability * *delta.view.f32(row, head);
    }
    EXPECT_TRUE(rows_close(d_sinks.view, expected, 0x1p-24));
  }
}

TEST(ApplySinks, RefuseShapesThatDisagree) {
  TestRows sinks(1, 3, 1), o(4, 2, 2), lse(4, 2, 1);
  EXPECT_THAT([&] { make_cpu_backend(1)->apply_sinks(sinks.view, o.view, lse.view); },
              testing::ThrowsMessage<InternalError>(
                  testing::HasSubstr("expected sinks of [1, 2, 1], got [1, 3, 1]")));
  EXPECT_THROW(make_cpu_backend(1)->add_sink_gradients(sinks.view, lse.view, lse.view, sinks.view),
               InternalError);
}

}  // namespace
}  // namespace cadenza
