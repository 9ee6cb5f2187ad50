#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "kernels/reference/attention_by_definition.h"
#include "step/run_plan_test.h"
#include "testing/expect_close.h"
#include "testing/mask_definition.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

constexpr double kTolerance = 1e-5;
/// The layer with sinks; the other has none.
constexpr int kLayerWithSinks = 1;

/// What one rank sees of a recorded model that all share, with sinks whose gradient is the rank's
/// own, as in a replica.
class ReplicaWithSinks final : public Segments {
 public:
  ReplicaWithSinks(RecordedModel& model, const std::vector<float>& logits)
      : model_(model), logits_(logits), gradient_(logits.size()) {}

  int layers() const override { return model_.layers(); }
  int64_t heads() const override { return model_.heads(); }
  int64_t kv_heads() const override { return model_.kv_heads(); }
  int64_t head_dim() const override { return model_.head_dim(); }
  Dtype dtype() const override { return model_.dtype(); }
  LayerSoftmax softmax(int layer) const override {
    LayerSoftmax softmax{.scale = default_softmax_scale(head_dim())};
    if (layer == kLayerWithSinks) {
      softmax.sinks = SinkViews{contiguous_rows(logits_.data(), 1, heads(), 1),
                                contiguous_rows(gradient_.data(), 1, heads(), 1)};
    }
    return softmax;
  }
  std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double loss_scale,
                                    bool training) override {
    return model_.start(tokens, loss_scale, training);
  }
  const std::vector<float>& gradient() const { return gradient_; }

 private:
  RecordedModel& model_;
  mutable std::vector<float> logits_, gradient_;
};

/// Below, among and above the scores; one head without.
std::vector<float> sink_logits() { return {-3, 0.5f, 1, 2.5f, -INFINITY, 6}; }

/// Runs the plan and returns the sinks' gradient, summed over ranks.
std::vector<float> run_with_sinks(const Plan& plan, RecordedModel& model) {
  std::vector<std::unique_ptr<ReplicaWithSinks>> replicas;
  for (int rank = 0; rank < plan.servers; ++rank) {
    replicas.push_back(std::make_unique<ReplicaWithSinks>(model, sink_logits()));
  }
  run_plan(plan, [&](Rank rank) -> Segments& { return *replicas[static_cast<size_t>(rank)]; });
  std::vector<float> sum(kHeads);
  for (const auto& replica : replicas) {
    for (size_t head = 0; head < sum.size(); ++head) sum[head] += replica->gradient()[head];
  }
  return sum;
}

RowsView rows_of(RecordedRows& rows, size_t document) {
  std::vector<float>& values = rows.documents[document];
  const auto count = static_cast<int64_t>(values.size()) / (rows.heads * rows.dim);
  return contiguous_rows(values.data(), count, rows.heads, rows.dim);
}

/// Against 1 at least, the size of the inputs: some gradients are zero but for rounding.
testing::AssertionResult close(std::vector<float> got, std::vector<double> expected) {
  got.push_back(1.0f);
  expected.push_back(1.0);
  return close_to(got, expected, kTolerance);
}

/// Compares a layer with attention by definition, document by document.
void expect_definition(const Batch& batch, RecordedModel& model, int layer_index,
                       const std::vector<float>& d_sinks) {
  RecordedLayer& layer = model.layer(layer_index);
  std::vector<double> sinks, expected_d_sinks(kHeads);
  for (const float sink : sink_logits()) sinks.push_back(sink);
  for (size_t i = 0; i < batch.documents.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "layer " << layer_index << ", document " << i);
    const Document& document = batch.documents[i];
    DefinedAttention defined{.shape = {kHeads, kKvHeads, kHeadDim, kHeadDim,
                                       1.0f / std::sqrt(static_cast<float>(kHeadDim))},
                             .q = rows_of(layer.q, i),
                             .k = rows_of(layer.k, i),
                             .v = rows_of(layer.v, i)};
    defined.sees = [&](int64_t q, int64_t k) {
      return mask_allows(document.mask, document.length, q, k);
    };
    if (layer_index == kLayerWithSinks) defined.sinks = sinks;
    EXPECT_TRUE(close(layer.o.documents[i], defined_forward(defined).o));
    const DefinedGradients gradients = defined_backward(defined, rows_of(layer.d_o, i));
    EXPECT_TRUE(close(layer.dq.documents[i], gradients.dq));
    EXPECT_TRUE(close(layer.dk.documents[i], gradients.dk));
    EXPECT_TRUE(close(layer.dv.documents[i], gradients.dv));
    for (size_t head = 0; head < gradients.d_sinks.size(); ++head) {
      expected_d_sinks[head] += gradients.d_sinks[head];
    }
  }
  if (layer_index == kLayerWithSinks) {
    EXPECT_TRUE(close(d_sinks, expected_d_sinks));
  }
}

/// The same documents on one rank.
Batch on_one_rank(const Batch& batch) {
  std::vector<Document> documents = batch.documents;
  int64_t tokens = 0;
  for (Document& document : documents) {
    document.shards.clear();
    tokens += document.length;
  }
  return fill_sequentially(std::move(documents), 1, tokens);
}

std::vector<float> all_values(const RecordedRows& rows) {
  std::vector<float> all;
  for (const auto& values : rows.documents) all.insert(all.end(), values.begin(), values.end());
  return all;
}

void expect_equal(const RecordedLayer& got, const RecordedLayer& expected) {
  for (const auto rows :
       {&RecordedLayer::o, &RecordedLayer::dq, &RecordedLayer::dk, &RecordedLayer::dv}) {
    const std::vector<float> values = all_values(expected.*rows);
    EXPECT_TRUE(close(all_values(got.*rows), {values.begin(), values.end()}));
  }
}

class SinksOnRanks : public testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(SinksOnRanks, EqualTheDefinitionAndOneRank) {
  const auto& [ranks, strategy] = GetParam();
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch =
        random_batch(rng, {.ranks = ranks, .max_documents = 5, .max_length = 60, .masks = true});
    RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, seed);
    const std::vector<float> d_sinks = run_with_sinks(plan_with(strategy, batch, ranks), model);
    for (int layer = 0; layer < kLayers; ++layer) expect_definition(batch, model, layer, d_sinks);

    RecordedModel alone(batch, kLayers, kHeads, kKvHeads, kHeadDim, seed);
    const Plan one_rank = plan_with("home", on_one_rank(batch), 1);
    EXPECT_TRUE(close_to(d_sinks, run_with_sinks(one_rank, alone), kTolerance));
    for (int layer = 0; layer < kLayers; ++layer)
      expect_equal(model.layer(layer), alone.layer(layer));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SinksOnRanks,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values("home", "cad", "ring", "mesh",
                                                          "per_document_cp", "ulysses", "sap",
                                                          "hdp")));

TEST(Sinks, CountOnceWhereServersShareTheKeysOfARow) {
  // Rows 4..12 read their keys at three servers, some heads in two parts at one of them; rank 3's
  // part of rows 4..6 holds no key that they see.
  const Batch batch = fill_sequentially(documents_of_lengths({12}), 2, 6);
  const Band causal = Band::causal();
  const Plan plan{
      .strategy = "by hand",
      .servers = 4,
      .batch = batch,
      .tasks = {
          {.document = 0, .piece = {{0, 4}, {0, 4}, causal}, .heads = {}, .server = 3},
          {.document = 0, .piece = {{4, 12}, {0, 3}, causal}, .heads = {}, .server = 0},
          {.document = 0, .piece = {{4, 12}, {3, 5}, causal}, .heads = {}, .server = 2},
          {.document = 0, .piece = {{4, 12}, {5, 6}, causal}, .heads = {0, 5}, .server = 2},
          {.document = 0, .piece = {{4, 12}, {5, 6}, causal}, .heads = {5, 6}, .server = 1},
          {.document = 0, .piece = {{4, 12}, {6, 12}, causal}, .heads = {}, .server = 3},
      }};
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 21);
  const std::vector<float> d_sinks = run_with_sinks(plan, model);
  for (int layer = 0; layer < kLayers; ++layer) expect_definition(batch, model, layer, d_sinks);
  RecordedModel again(batch, kLayers, kHeads, kKvHeads, kHeadDim, 21);
  EXPECT_EQ(run_with_sinks(plan, again), d_sinks);  // bit for bit
}

TEST(Sinks, AreAppliedInAPassWithoutBackwardToo) {
  const Batch batch = fill_sequentially(documents_of_lengths({5}), 1, 5);
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 22), whole = model;
  ReplicaWithSinks replica(model, sink_logits());
  spawn_ranks(1, [&](Group& group) {
    const auto programs = compile_plan(verify_plan(plan_with("home", batch, 1)), kHeads, kKvHeads);
    const auto backend = make_cpu_backend(1);
    const auto schedule = plain_schedule(kLayers, false);
    const RankTokens tokens = recorded_tokens(batch, 0);
    LaneClock clock;
    AttentionContext context{group, *backend, clock, kDeadlineSeconds};
    PassRunner(context, replica).run({{{programs, tokens}}, schedule, 0.0, false});
  });
  run_with_sinks(plan_with("home", batch, 1), whole);
  EXPECT_EQ(model.layer(kLayerWithSinks).o.documents, whole.layer(kLayerWithSinks).o.documents);
  EXPECT_THAT(replica.gradient(), testing::Each(0.0f));
}

}  // namespace
}  // namespace cadenza
