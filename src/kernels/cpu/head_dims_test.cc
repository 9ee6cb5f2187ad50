#include <algorithm>

#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

class HeadDims : public EveryIsa {
 protected:
  void expect_reference(const AttentionShape& shape, uint64_t seed) const {
    SCOPED_TRACE(cat("head_dim ", shape.head_dim, ", v_head_dim ", shape.v_head_dim, ", heads ",
                     shape.heads, ", kv_heads ", shape.kv_heads, ", seed ", seed));
    Rng rng(seed);
    AttentionCase c = make_case(rng, shape, 41, 67, seed % 2 == 0);
    c.tasks = {whole_task(c, causal_bottom_right(41, 67)), whole_task(c, Band{-7, 12})};
    c.tasks[0].kv_rows = 60, c.tasks[1].kv_begin = 60, c.tasks[1].kv_rows = 7;
    c.tasks[1].merge = true;
    const ReferenceForward forward = reference_forward(c.forward());
    const ReferenceBackward backward = reference_backward(c.backward());
    const auto kernels = backend();
    kernels->attention_forward(c.forward());
    kernels->attention_backward(c.backward());
    const double near = forward_tolerance(67, shape.head_dim);
    const double gradients_near = backward_tolerance(41 * shape.heads / shape.kv_heads,
                                                     std::max(shape.head_dim, shape.v_head_dim));
    EXPECT_TRUE(rows_close(c.o.view, forward.o, near));
    EXPECT_TRUE(rows_close(c.lse.view, forward.lse, near));
    EXPECT_TRUE(rows_close(c.dq.view, backward.dq, gradients_near));
    EXPECT_TRUE(rows_close(c.dk.view, backward.dk, gradients_near));
    EXPECT_TRUE(rows_close(c.dv.view, backward.dv, gradients_near));
  }
};

TEST_P(HeadDims, EveryMultipleOfEightUpTo256AndEveryRatioOfHeads) {
  constexpr int64_t kRatios[] = {1, 2, 3, 4, 5, 8, 16};
  for (int64_t dim = 16, i = 0; dim <= 256; dim += 8, ++i) {
    const int64_t ratio = kRatios[i % 7], kv_heads = ratio < 4 ? 2 : 1;
    // The value's dim is the same, or runs the other way.
    const int64_t v_dim = i % 2 == 0 ? dim : 272 - dim;
    expect_reference({.heads = ratio * kv_heads,
                      .kv_heads = kv_heads,
                      .head_dim = dim,
                      .v_head_dim = v_dim,
                      .scale = 1 / std::sqrt(static_cast<float>(dim))},
                     static_cast<uint64_t>(dim));
  }
}

TEST_P(HeadDims, WiderQueriesAndKeysThanValuesAsInLatentAttention) {
  for (const uint64_t seed : {61, 62}) {
    expect_reference(
        {.heads = 4, .kv_heads = 4, .head_dim = 192, .v_head_dim = 128, .scale = 0.0722f}, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, HeadDims, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
