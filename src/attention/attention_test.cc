// Attention over the ranks of a group, without model, tokens or loss: against its definition in
// double on whole documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "attention/rank_attention.h"
#include "core/verify_plan.h"
#include "kernels/reference/attention_by_definition.h"
#include "planner/strategy.h"
#include "testing/expect_close.h"
#include "testing/mask_definition.h"
#include "testing/random_batch.h"
#include "testing/spawn_ranks.h"

namespace cadenza {
namespace {

constexpr int64_t kHeads = 6, kKvHeads = 2, kHeadDim = 8;
constexpr double kTolerance = 1e-5;

/// Whole documents one after the other: [tokens, heads, head_dim].
struct Tensor {
  Tensor(int64_t tokens, int64_t heads, Rng* rng = nullptr)
      : values(static_cast<size_t>(tokens * heads * kHeadDim)),
        view(contiguous_rows(values.data(), tokens, heads, kHeadDim)) {
    if (rng == nullptr) return;
    for (float& value : values) value = static_cast<float>(uniform_between(*rng, -100, 100)) / 64;
  }
  RowsView rows(int64_t begin, int64_t count) const {
    RowsView part = view;
    part.data = view.f32(begin, 0);
    part.rows = count;
    return part;
  }
  std::vector<float> values;
  RowsView view;
};

struct LayerTensors {
  LayerTensors(int64_t tokens, Rng& rng)
      : q(tokens, kHeads, &rng),
        k(tokens, kKvHeads, &rng),
        v(tokens, kKvHeads, &rng),
        d_o(tokens, kHeads, &rng),
        o(tokens, kHeads),
        dq(tokens, kHeads),
        dk(tokens, kKvHeads),
        dv(tokens, kKvHeads) {}
  Tensor q, k, v, d_o, o, dq, dk, dv;
};

std::vector<int64_t> first_tokens(const Batch& batch) {
  std::vector<int64_t> first{0};
  for (const Document& document : batch.documents) first.push_back(first.back() + document.length);
  return first;
}

/// One rank's rows of a whole tensor in its home layout, or back.
void take_rows(const Batch& batch, Rank rank, const Tensor& whole, const RowsView& own) {
  const auto first = first_tokens(batch);
  for (const LocalShard& shard : local_shards(batch, rank)) {
    const RowsView from = whole.rows(first[static_cast<size_t>(shard.document)] + shard.rows.begin,
                                     shard.rows.size());
    std::copy_n(from.f32(0, 0), from.rows * from.row_stride, own.f32(shard.first_row, 0));
  }
}

void put_rows(const Batch& batch, Rank rank, const RowsView& own, Tensor& whole) {
  const auto first = first_tokens(batch);
  for (const LocalShard& shard : local_shards(batch, rank)) {
    const RowsView to = whole.rows(first[static_cast<size_t>(shard.document)] + shard.rows.begin,
                                   shard.rows.size());
    std::copy_n(own.f32(shard.first_row, 0), to.rows * to.row_stride, to.f32(0, 0));
  }
}

/// The strategy's plan of the batch's homes; a strategy that places tokens chooses them.
Plan plan_with(const std::string& name, const Batch& batch) {
  static const PairsCostModel cost;
  const Strategy& strategy = find_strategy(name);
  return strategy.plan({.documents = batch.documents,
                        .homes_given = !strategy.places_tokens,
                        .homes = batch.homes,
                        .tokens_per_rank = first_tokens(batch).back(),
                        .cluster = {.servers = batch.homes, .speeds = {}, .servers_per_node = 2},
                        .shape = {kHeads, kKvHeads, kHeadDim, Dtype::kFloat32},
                        .cost = &cost});
}

/// The same homes under another mask, each query where it lives.
Plan under_mask(Plan plan, const Mask& mask) {
  for (Document& document : plan.batch.documents) document.mask = mask;
  return plan_with("home", plan.batch);
}

/// Forward of all layers, then backward in reverse, on every rank as a thread. `plans`: by kind.
void run(const std::vector<Plan>& plans, const AttentionSpec& spec,
         std::vector<LayerTensors>& layers) {
  const Batch& batch = plans.front().batch;
  spawn_ranks(plans.front().servers, [&](Group& group) {
    const Rank rank = group.rank();
    std::vector<RankProgram> programs;
    for (const Plan& plan : plans) {
      programs.push_back(compile_plan(verify_plan(plan), kHeads, kKvHeads, rank));
    }
    const auto backend = make_cpu_backend(1);
    LaneClock clock;
    AttentionContext context{group, *backend, clock, /*deadline_seconds=*/20};
    RankAttention attention(context, spec, programs, /*training=*/true);
    const int64_t rows = attention.home_rows();
    Tensor q(rows, kHeads), k(rows, kKvHeads), v(rows, kKvHeads), d_o(rows, kHeads);
    for (size_t i = 0; i < layers.size(); ++i) {
      take_rows(batch, rank, layers[i].q, q.view);
      take_rows(batch, rank, layers[i].k, k.view);
      take_rows(batch, rank, layers[i].v, v.view);
      put_rows(batch, rank, attention.forward(static_cast<int>(i), {q.view, k.view, v.view}),
               layers[i].o);
    }
    for (size_t i = layers.size(); i-- > 0;) {
      take_rows(batch, rank, layers[i].d_o, d_o.view);
      const QkvViews gradients = attention.backward(static_cast<int>(i), d_o.view);
      put_rows(batch, rank, gradients.q, layers[i].dq);
      put_rows(batch, rank, gradients.k, layers[i].dk);
      put_rows(batch, rank, gradients.v, layers[i].dv);
      attention.release(static_cast<int>(i));
    }
  });
}

/// Against 1 at least, the size of the inputs: some gradients are zero but for rounding.
testing::AssertionResult close(const RowsView& got, std::vector<double> expected) {
  std::vector<float> values(got.f32(0, 0), got.f32(0, 0) + got.rows * got.row_stride);
  values.push_back(1.0f);
  expected.push_back(1.0);
  return close_to(values, expected, kTolerance);
}

void expect_definition(const Batch& batch, float scale, LayerTensors& layer) {
  const auto first = first_tokens(batch);
  for (size_t i = 0; i < batch.documents.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "document " << i);
    const Document& document = batch.documents[i];
    const auto rows = [&](const Tensor& tensor) { return tensor.rows(first[i], document.length); };
    DefinedAttention defined{.shape = {kHeads, kKvHeads, kHeadDim, kHeadDim, scale},
                             .q = rows(layer.q),
                             .k = rows(layer.k),
                             .v = rows(layer.v),
                             .sees = {},
                             .sinks = {}};
    defined.sees = [&](int64_t q, int64_t k) {
      return mask_allows(document.mask, document.length, q, k);
    };
    EXPECT_TRUE(close(rows(layer.o), defined_forward(defined).o));
    const DefinedGradients gradients = defined_backward(defined, rows(layer.d_o));
    EXPECT_TRUE(close(rows(layer.dq), gradients.dq));
    EXPECT_TRUE(close(rows(layer.dk), gradients.dk));
    EXPECT_TRUE(close(rows(layer.dv), gradients.dv));
  }
}

AttentionSpec spec_of(std::vector<LayerSoftmax> layers,
                      BackwardInputs inputs = BackwardInputs::kKept) {
  return {.shape = {kHeads, kKvHeads, kHeadDim, Dtype::kFloat32},
          .layers = std::move(layers),
          .inputs = inputs};
}

class Attention : public testing::TestWithParam<std::tuple<int, std::string, BackwardInputs>> {};

TEST_P(Attention, IsItsDefinitionOnWholeDocuments) {
  const auto& [ranks, strategy, inputs] = GetParam();
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch =
        random_batch(rng, {.ranks = ranks, .max_documents = 5, .max_length = 50, .masks = true});
    const Plan plan = plan_with(strategy, batch);
    const AttentionSpec spec = spec_of({{.scale = 0.35f}, {.scale = 0.2f}}, inputs);
    std::vector<LayerTensors> layers;
    for (int i = 0; i < 2; ++i) layers.emplace_back(first_tokens(batch).back(), rng);
    run({plan}, spec, layers);
    for (size_t i = 0; i < layers.size(); ++i)
      expect_definition(plan.batch, spec.layers[i].scale, layers[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, Attention,
    testing::Combine(testing::Values(1, 2, 3, 4), testing::Values("home", "cad", "ring", "mesh"),
                     testing::Values(BackwardInputs::kKept, BackwardInputs::kSentAgain)));

// A model whose layers take turns: near keys only, all keys, near keys only.
TEST(AttentionKinds, LayersOfOneModelMayHaveMasksAndScalesOfTheirOwn) {
  const Mask window{.kind = Mask::Kind::kWindow, .window = 7, .explicit_pieces = {}};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const int ranks = static_cast<int>(uniform_between(rng, 1, 4));
    const Batch batch = random_batch(rng, {.ranks = ranks, .max_documents = 4, .max_length = 60});
    const Plan whole = plan_with(seed % 2 == 0 ? "ring" : "cad", batch);
    const Plan near = under_mask(whole, window);
    const AttentionSpec spec = spec_of(
        {{.scale = 0.3f, .kind = 1}, {.scale = 0.35f, .kind = 0}, {.scale = 0.4f, .kind = 1}});
    std::vector<LayerTensors> layers;
    for (int i = 0; i < 3; ++i) layers.emplace_back(first_tokens(batch).back(), rng);
    run({whole, near}, spec, layers);
    for (size_t i = 0; i < layers.size(); ++i) {
      const Plan& plan = spec.layers[i].kind == 0 ? whole : near;
      expect_definition(plan.batch, spec.layers[i].scale, layers[i]);
    }
  }
}

}  // namespace
}  // namespace cadenza
