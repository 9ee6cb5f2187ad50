// Attention disaggregated over ranks, in a program of one's own: no model, no trainer. Four ranks
// (threads here; over Gloo they are processes) hold documents of very different lengths; `cad`
// plans who computes what; each rank hands in Q, K, V of its tokens and gets O, hands in dO and
// gets dQ, dK, dV.
#include <cmath>
#include <iostream>
#include <vector>

#include "attention/rank_attention.h"
#include "core/verify_plan.h"
#include "planner/strategy.h"
#include "testing/spawn_ranks.h"

using namespace cadenza;

constexpr int kRanks = 4, kSteps = 2;
const ModelShape kShape{.heads = 8, .kv_heads = 2, .head_dim = 64, .dtype = Dtype::kFloat32};

/// Rows of this rank, [rows, heads, head_dim]; any memory will do.
struct Rows {
  Rows(int64_t rows, int64_t heads, float seed) : values(static_cast<size_t>(rows * heads * 64)) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(seed + 0.1f * static_cast<float>(i));
    view = contiguous_rows(values.data(), rows, heads, 64);
  }
  std::vector<float> values;
  RowsView view;
};

int main() {
  const PairsCostModel cost;
  const Batch batch = fill_evenly(documents_of_lengths({1500, 30, 200, 1, 317}), kRanks, 512);
  const VerifiedPlan plan = verify_plan(find_strategy("cad").plan({.documents = batch.documents,
                                                                   .homes_given = true,
                                                                   .homes = kRanks,
                                                                   .cluster = {.servers = kRanks},
                                                                   .shape = kShape,
                                                                   .cost = &cost}));
  const AttentionSpec spec{.shape = kShape, .layers = {{.scale = default_softmax_scale(64)}}};
  spawn_ranks(kRanks, [&](Group& group) {
    const std::vector<RankProgram> programs{compile_plan(plan, 8, 2, group.rank())};
    const auto backend = make_cpu_backend(/*threads=*/1);
    LaneClock clock;
    AttentionContext context{group, *backend, clock};
    RankAttention attention(context, spec, programs, /*training=*/true);
    const int64_t rows = attention.home_rows();
    for (int step = 0; step < kSteps; ++step) {
      const Rows q(rows, 8, 1.f), k(rows, 2, 2.f), v(rows, 2, 3.f), d_o(rows, 8, 4.f);
      const RowsView o = attention.forward(0, {q.view, k.view, v.view});
      const float last = rows > 0 ? *o.f32(rows - 1, 0) : 0;
      const QkvViews gradients = attention.backward(0, d_o.view);
      if (group.rank() == 0)
        std::cout << "step " << step << ": " << rows << " rows on rank 0; of the last: o[0] "
                  << last << ", dq[0] " << *gradients.q.f32(rows - 1, 0) << ", "
                  << context.sent_bytes << " bytes sent\n";
      attention.release(0);
    }
  });
}
