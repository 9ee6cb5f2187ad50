#include <gmock/gmock.h>

#include <limits>

#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

class AttentionCases : public EveryIsa {
 protected:
  /// Zeros everywhere.
  static AttentionCase zero_case(const AttentionShape& shape, int64_t q_rows, int64_t kv_rows) {
    Rng rng(1);
    AttentionCase c = make_case(rng, shape, q_rows, kv_rows, false);
    for (TestRows* rows :
         {&c.q, &c.k, &c.v, &c.o, &c.lse, &c.d_o, &c.row_lse, &c.delta, &c.dq, &c.dk, &c.dv}) {
      rows->set([](int64_t, int64_t, int64_t) { return 0.0f; });
    }
    return c;
  }
  static bool row_has_nan(const TestRows& rows, int64_t row) {
    for (int64_t head = 0; head < rows.view.heads; ++head) {
      for (int64_t d = 0; d < rows.view.dim; ++d) {
        if (std::isnan(rows.view.f32(row, head)[d])) return true;
      }
    }
    return false;
  }
  static std::vector<int64_t> rows_with_nan(const TestRows& rows) {
    std::vector<int64_t> found;
    for (int64_t row = 0; row < rows.view.rows; ++row) {
      if (row_has_nan(rows, row)) found.push_back(row);
    }
    return found;
  }
};

TEST_P(AttentionCases, BottomRightCausalOverEqualScoresAverages) {
  AttentionCase c = zero_case({1, 1, 1, 1, 1.0f}, 2, 5);
  c.v.set([](int64_t row, int64_t, int64_t) { return static_cast<float>(row); });
  c.tasks = {whole_task(c, causal_bottom_right(2, 5))};
  backend()->attention_forward(c.forward());
  EXPECT_THAT(c.o.memory, testing::Pointwise(testing::FloatEq(), {1.5f, 2.0f}));
  EXPECT_THAT(c.lse.memory,
              testing::Pointwise(testing::FloatEq(), {1.3862943611198906f, 1.6094379124341003f}));
}

TEST_P(AttentionCases, EachGroupOfQueryHeadsReadsItsKvHead) {
  AttentionCase c = zero_case({6, 2, 1, 1, 1.0f}, 1, 1);
  c.v.set([](int64_t, int64_t head, int64_t) { return static_cast<float>(head + 1); });
  c.d_o.set([](int64_t, int64_t, int64_t) { return 1.0f; });
  c.tasks = {whole_task(c, Band::full())};
  forward_and_backward(c, *backend());
  EXPECT_THAT(c.o.memory, testing::ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(c.dv.memory, testing::ElementsAre(3, 3));
}

TEST_P(AttentionCases, SequencesWithoutQueriesOrKeysGiveExactZeros) {
  constexpr int64_t kQ[] = {0, 0, 12, 20, 20}, kK[] = {0, 25, 42, 51, 81};
  Rng rng(11);
  AttentionCase c = make_case(rng, {4, 1, 16, 16, 0.25f}, 20, 81, false);
  for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) {
    rows->set([](int64_t, int64_t, int64_t) { return 0.0f; });
  }
  for (int i = 0; i < 4; ++i) {
    const int64_t q = kQ[i + 1] - kQ[i], kv = kK[i + 1] - kK[i];
    AttentionTask task = whole_task(c, causal_bottom_right(q, kv));
    task.q_begin = kQ[i], task.q_rows = q, task.kv_begin = kK[i], task.kv_rows = kv;
    c.tasks.push_back(task);
  }
  forward_and_backward(c, *backend());
  for (int64_t row = 0; row < 81; ++row) {
    const bool unseen = row < 25 || row >= 51;
    bool zero = true;
    for (int64_t d = 0; d < 16; ++d) {
      zero = zero && c.dk.view.f32(row, 0)[d] == 0 && c.dv.view.f32(row, 0)[d] == 0;
    }
    EXPECT_EQ(zero, unseen) << "key row " << row;
  }
  EXPECT_THAT(rows_with_nan(c.dq), testing::IsEmpty());
}

TEST_P(AttentionCases, QueriesWithoutKeysGiveZeroAndMinusInfinityAndNoGradient) {
  Rng rng(12);
  AttentionCase c = make_case(rng, {2, 1, 8, 8, 0.35f}, 6, 3, false);
  c.dq.set([](int64_t, int64_t, int64_t) { return 0.0f; });
  c.tasks = {whole_task(c, Band{Band::kUnboundedBelow, -2})};  // rows 0 and 1 see nothing
  forward_and_backward(c, *backend());
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(*c.lse.view.f32(row, 1) == -kInfinity, row < 2) << row;
    EXPECT_EQ(c.o.view.f32(row, 0)[3] == 0, row < 2) << row;
    if (row == 2) continue;  // sees one key: its gradient is zero but for rounding
    EXPECT_EQ(c.dq.view.f32(row, 1)[3] == 0, row < 2) << row;
  }
}

TEST_P(AttentionCases, NoTasksAndNoRowsTouchNothing) {
  Rng rng(13);
  AttentionCase c = make_case(rng, {2, 1, 8, 8, 0.35f}, 4, 4, false);
  const std::vector<float> o = c.o.memory, dk = c.dk.memory;
  backend()->attention_forward(c.forward());
  backend()->attention_backward(c.backward());
  EXPECT_EQ(c.o.memory, o);
  EXPECT_EQ(c.dk.memory, dk);
  AttentionCase empty = make_case(rng, {2, 1, 8, 8, 0.35f}, 0, 0, false);
  empty.tasks = {whole_task(empty, Band::causal())};
  EXPECT_NO_THROW(backend(2)->attention_forward(empty.forward()));
  EXPECT_NO_THROW(backend(2)->attention_backward(empty.backward()));
}

TEST_P(AttentionCases, ATaskThatSeesNothingMergesWithoutChangingABit) {
  Rng rng(14);
  AttentionCase c = make_case(rng, {2, 1, 8, 8, 0.35f}, 9, 9, false);
  const std::vector<float> o = c.o.memory, lse = c.lse.memory;
  c.tasks = {whole_task(c, Band{20, 30}), whole_task(c, Band{5, 4})};
  for (AttentionTask& task : c.tasks) task.merge = true;
  backend()->attention_forward(c.forward());
  EXPECT_EQ(c.o.memory, o);
  EXPECT_EQ(c.lse.memory, lse);
}

/// Two documents of four tokens, causal.
class NotANumber : public AttentionCases {
 protected:
  static AttentionCase two_documents(int64_t length = 4) {
    Rng rng(15);
    AttentionCase c = make_case(rng, {2, 1, 8, 8, 0.35f}, 2 * length, 2 * length, false);
    for (int64_t begin : {int64_t{0}, length}) {
      AttentionTask task = whole_task(c, Band::causal());
      task.q_begin = task.kv_begin = begin, task.q_rows = task.kv_rows = length;
      c.tasks.push_back(task);
    }
    return c;
  }
};

TEST_P(NotANumber, InAQueryStaysInItsRow) {
  AttentionCase c = two_documents();
  c.q.view.f32(1, 0)[2] = kNan;
  forward_and_backward(c, *backend());
  EXPECT_THAT(rows_with_nan(c.o), testing::ElementsAre(1));
  EXPECT_THAT(rows_with_nan(c.lse), testing::ElementsAre(1));
  EXPECT_THAT(rows_with_nan(c.dq), testing::ElementsAre(1));
  EXPECT_THAT(rows_with_nan(c.dk), testing::ElementsAre(0, 1));
  EXPECT_THAT(rows_with_nan(c.dv), testing::ElementsAre(0, 1));
}

TEST_P(NotANumber, InAKeyReachesTheQueriesThatSeeIt) {
  AttentionCase c = two_documents();
  c.k.view.f32(2, 0)[7] = kNan;
  forward_and_backward(c, *backend());
  EXPECT_THAT(rows_with_nan(c.o), testing::ElementsAre(2, 3));
  EXPECT_THAT(rows_with_nan(c.lse), testing::ElementsAre(2, 3));
  EXPECT_THAT(rows_with_nan(c.dq), testing::ElementsAre(2, 3));
  EXPECT_THAT(rows_with_nan(c.dk), testing::ElementsAre(0, 1, 2, 3));
}

TEST_P(NotANumber, InAValueReachesTheQueriesThatSeeIt) {
  for (const float value : {kNan, kInfinity}) {
    AttentionCase c = two_documents();
    c.v.view.f32(2, 0)[5] = value;
    backend()->attention_forward(c.forward());
    for (int64_t row = 0; row < 8; ++row) {
      EXPECT_EQ(!std::isfinite(c.o.view.f32(row, 1)[5]), row == 2 || row == 3) << row;
    }
  }
}

TEST_P(NotANumber, InAnOutputGradientReachesTheKeysThatItsQuerySees) {
  AttentionCase c = two_documents();
  c.d_o.view.f32(1, 0)[5] = kNan;
  forward_and_backward(c, *backend());
  EXPECT_THAT(rows_with_nan(c.dq), testing::ElementsAre(1));
  EXPECT_THAT(rows_with_nan(c.dk), testing::ElementsAre(0, 1));
  EXPECT_THAT(rows_with_nan(c.dv), testing::ElementsAre(0, 1));
}

TEST_P(NotANumber, FarBackInALongDocumentIsNotHidden) {
  AttentionCase c = two_documents(300);
  c.k.view.f32(200, 0)[0] = kNan;
  c.v.view.f32(100, 0)[0] = kNan;
  backend()->attention_forward(c.forward());
  for (int64_t row = 0; row < 600; ++row) {
    const bool seen = row >= 100 && row < 300;
    EXPECT_EQ(row_has_nan(c.o, row), seen) << row;
    EXPECT_EQ(row_has_nan(c.lse, row), seen && row >= 200) << row;
  }
}

TEST_P(NotANumber, InARowWithoutLseContributesNothing) {
  AttentionCase c = two_documents();
  c.row_lse.set([](int64_t row, int64_t, int64_t) { return row == 3 ? -kInfinity : 4.0f; });
  for (int64_t head = 0; head < 2; ++head) {
    c.q.view.f32(3, head)[0] = c.d_o.view.f32(3, head)[0] = kNan;
  }
  c.delta.view.f32(3, 0)[0] = kNan;
  backend()->attention_backward(c.backward());
  EXPECT_THAT(rows_with_nan(c.dq), testing::IsEmpty());
  EXPECT_THAT(rows_with_nan(c.dk), testing::IsEmpty());
  EXPECT_THAT(rows_with_nan(c.dv), testing::IsEmpty());
}

TEST_P(AttentionCases, ScoresThatGrowLateAndLargeStayExact) {
  Rng rng(16);
  AttentionCase c = make_case(rng, {1, 1, 4, 4, 1.0f}, 40, 500, false);
  c.k.set([&](int64_t row, int64_t, int64_t) {
    return uniform(rng, -1, 1) * (row % 97 == 96 ? static_cast<float>(row) / 4 : 1);
  });
  c.tasks = {whole_task(c, Band::full())};
  const ReferenceForward expected = reference_forward(c.forward());
  backend()->attention_forward(c.forward());
  // Scores reach several hundred: their rounding, not the sums, is what shows.
  EXPECT_TRUE(rows_close(c.o.view, expected.o, 0x1p-24 * 2000));
  EXPECT_TRUE(rows_close(c.lse.view, expected.lse, forward_tolerance(500, 4)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, AttentionCases, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });
INSTANTIATE_TEST_SUITE_P(Cpu, NotANumber, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
