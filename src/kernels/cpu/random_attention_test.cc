#include "kernels/random_attention.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20240607;

class RandomAttention : public EveryIsa {};

TEST_P(RandomAttention, ForwardAgreesWithTheDoubleReference) {
  Rng rng(kSeed);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(cat("seed ", kSeed, ", case ", i));
    const AttentionCase c = random_case(rng);
    const ReferenceForward expected = reference_forward(c.forward());
    backend()->attention_forward(c.forward());
    const double tolerance = forward_tolerance(c.k.view.rows, c.shape.head_dim);
    ASSERT_TRUE(rows_close(c.o.view, expected.o, tolerance));
    ASSERT_TRUE(rows_close(c.lse.view, expected.lse, tolerance));
  }
}

TEST_P(RandomAttention, BackwardAgreesWithTheDoubleReference) {
  Rng rng(kSeed + 1);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(cat("seed ", kSeed + 1, ", case ", i));
    const AttentionCase c = random_case(rng);
    const ReferenceBackward expected = reference_backward(c.backward());
    backend()->attention_backward(c.backward());
    const int64_t dim = std::max(c.shape.head_dim, c.shape.v_head_dim);
    const int64_t rows = std::max(c.k.view.rows, c.q.view.rows * c.shape.heads);
    const double tolerance = backward_tolerance(rows, dim);
    ASSERT_TRUE(rows_close(c.dq.view, expected.dq, tolerance));
    ASSERT_TRUE(rows_close(c.dk.view, expected.dk, tolerance));
    ASSERT_TRUE(rows_close(c.dv.view, expected.dv, tolerance));
  }
}

std::vector<std::vector<float>> all_results(const AttentionCase& c, Backend& backend) {
  backend.attention_forward(c.forward());
  backend.attention_backward(c.backward());
  return {c.o.memory, c.lse.memory, c.dq.memory, c.dk.memory, c.dv.memory};
}

TEST_P(RandomAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<std::vector<float>>> results;
  for (const int threads : {1, 2, 3, 5}) {
    Rng rng(kSeed + 2);
    const AttentionShape shape{
        .heads = 6, .kv_heads = 2, .head_dim = 16, .v_head_dim = 16, .scale = 0.25f};
    AttentionCase c = make_case(rng, shape, 900, 1100, false);
    c.tasks = {whole_task(c, causal_bottom_right(900, 1100))};
    for (int i = 0; i < 6; ++i) c.tasks.push_back(random_task(rng, c));
    results.push_back(all_results(c, *backend(threads)));
  }
  for (size_t run = 1; run < results.size(); ++run) {
    for (size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_EQ(results[0][i], results[run][i]) << "seed " << kSeed + 2 << ", output " << i;
    }
  }
}

TEST_P(RandomAttention, WritesEveryElementOfItsRowsAndNoOther) {
  Rng rng(kSeed + 3);
  const AttentionShape shape{
      .heads = 6, .kv_heads = 2, .head_dim = 16, .v_head_dim = 9, .scale = 0.25f};
  AttentionCase c = make_case(rng, shape, 130, 150, true);
  const float poison = std::nanf("");
  c.o.set([&](int64_t, int64_t, int64_t) { return poison; });
  c.lse.set([&](int64_t, int64_t, int64_t) { return poison; });
  AttentionTask task = whole_task(c, Band{-20, 5});
  task.q_begin = 10;
  task.q_rows = 115;
  task.head_begin = 1;
  task.head_end = 5;
  c.tasks = {task};
  backend()->attention_forward(c.forward());
  const auto untouched = [&](int64_t row, int64_t head) {
    return row < 10 || row >= 125 || head < 1 || head >= 5;
  };
  for (int64_t row = 0; row < 130; ++row) {
    for (int64_t head = 0; head < 6; ++head) {
      EXPECT_EQ(std::isnan(*c.lse.view.f32(row, head)), untouched(row, head)) << row;
      for (int64_t d = 0; d < 9; ++d) {
        EXPECT_EQ(std::isnan(c.o.view.f32(row, head)[d]), untouched(row, head)) << row;
      }
    }
  }
  for (size_t i = 0; i < c.o.memory.size(); ++i) {
    const auto at = static_cast<int64_t>(i) % c.o.view.row_stride;
    const bool gap = at >= 6 * c.o.view.head_stride || at % c.o.view.head_stride >= 9;
    EXPECT_TRUE(!gap || std::isnan(c.o.memory[i])) << "gap at " << i;
  }
}

TEST_P(RandomAttention, ThousandsOfTinyTasksAreExact) {
  constexpr int64_t kTasks = 4096;
  Rng rng(kSeed + 4);
  const AttentionShape shape{
      .heads = 2, .kv_heads = 1, .head_dim = 8, .v_head_dim = 8, .scale = 0.35f};
  AttentionCase c = make_case(rng, shape, kTasks * 3, kTasks * 3, false);
  for (int64_t i = 0, row = 0; i < kTasks; ++i) {
    const int64_t rows = uniform_between(rng, 1, 3);
    c.tasks.push_back({.q_begin = row,
                       .q_rows = rows,
                       .kv_begin = row,
                       .kv_rows = rows,
                       .lowest = Band::kUnboundedBelow,
                       .highest = 0,
                       .head_begin = 0,
                       .head_end = 2});
    row += rows;
  }
  const ReferenceForward expected = reference_forward(c.forward());
  const ReferenceBackward gradients = reference_backward(c.backward());
  backend(2)->attention_forward(c.forward());
  backend(2)->attention_backward(c.backward());
  EXPECT_TRUE(rows_close(c.o.view, expected.o, forward_tolerance(3, 8)));
  EXPECT_TRUE(rows_close(c.lse.view, expected.lse, forward_tolerance(3, 8)));
  EXPECT_TRUE(rows_close(c.dq.view, gradients.dq, backward_tolerance(3, 8)));
  EXPECT_TRUE(rows_close(c.dk.view, gradients.dk, backward_tolerance(6, 8)));
  EXPECT_TRUE(rows_close(c.dv.view, gradients.dv, backward_tolerance(6, 8)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, RandomAttention, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
