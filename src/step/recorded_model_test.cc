// The recorded model of recorded_model.h: linked into the runtime's tests only.
#include "step/recorded_model.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cadenza {
namespace {

RecordedRows rows_for(const Batch& batch, int64_t heads, int64_t dim, Rng* rng, Dtype dtype) {
  RecordedRows rows{heads, dim, {}};
  for (const Document& document : batch.documents) {
    auto& values = rows.documents.emplace_back(static_cast<size_t>(document.length * heads * dim));
    if (rng == nullptr) continue;
    for (float& value : values) {
      value = static_cast<float>(uniform_between(*rng, -1500, 1500)) / 1000.0f;
      if (dtype == Dtype::kBFloat16) value = to_float(to_bf16(value));
    }
  }
  return rows;
}

class RecordedRun final : public SegmentRun {
 public:
  RecordedRun(RecordedModel& model, const RankTokens& tokens)
      : model_(model), tokens_(tokens), losses_(tokens.ids.size(), 0.0f) {}

  void forward(int segment, const RowsView& o, const QkvViews& out) override {
    if (segment > 0) record(o, model_.layer(segment - 1).o);
    if (segment == model_.layers()) return;
    hand_out(model_.layer(segment).q, out.q);
    hand_out(model_.layer(segment).k, out.k);
    hand_out(model_.layer(segment).v, out.v);
  }

  void backward(int segment, const QkvViews& d_qkv, const RowsView& d_o) override {
    if (segment < model_.layers()) {
      record(d_qkv.q, model_.layer(segment).dq);
      record(d_qkv.k, model_.layer(segment).dk);
      record(d_qkv.v, model_.layer(segment).dv);
    }
    if (segment > 0) hand_out(model_.layer(segment - 1).d_o, d_o);
  }

  const std::vector<float>& row_losses() const override { return losses_; }
  int64_t first_bad_row() const override { return -1; }

 private:
  /// Calls copy(recorded value, index of the runtime's element) for every element.
  template <typename Copy>
  void each_element(RecordedRows& rows, const RowsView& view, const Copy& copy) {
    EXPECT_EQ(view.dtype, model_.dtype());
    const int64_t width = rows.heads * rows.dim;
    for (int64_t row = 0; row < view.rows; ++row) {
      const auto at = static_cast<size_t>(row);
      float* recorded = rows.row(tokens_.ids[at], tokens_.positions[at]);
      for (int64_t i = 0; i < width; ++i) copy(recorded[i], row * view.row_stride + i);
    }
  }
  void record(const RowsView& from, RecordedRows& to) {
    const auto* fp32 = static_cast<const float*>(from.data);
    const auto* bf16 = static_cast<const BFloat16*>(from.data);
    const bool wide = from.dtype == Dtype::kFloat32;
    each_element(to, from, [&](float& recorded, int64_t i) {
      recorded = wide ? fp32[i] : to_float(bf16[i]);
    });
  }
  void hand_out(RecordedRows& from, const RowsView& to) {
    auto* fp32 = static_cast<float*>(to.data);
    auto* bf16 = static_cast<BFloat16*>(to.data);
    const bool wide = to.dtype == Dtype::kFloat32;
    each_element(from, to, [&](float& recorded, int64_t i) {
      if (wide) {
        fp32[i] = recorded;
      } else {
        bf16[i] = to_bf16(recorded);
      }
    });
  }

  RecordedModel& model_;
  const RankTokens tokens_;
  std::vector<float> losses_;
};

}  // namespace

RecordedModel::RecordedModel(const Batch& batch, int layers, int64_t heads, int64_t kv_heads,
                             int64_t head_dim, uint64_t seed, Dtype dtype)
    : heads_(heads), kv_heads_(kv_heads), head_dim_(head_dim), dtype_(dtype) {
  Rng rng(seed);
  for (int layer = 0; layer < layers; ++layer) {
    RecordedLayer& made = layers_.emplace_back();
    for (RecordedRows* rows : {&made.q, &made.d_o})
      *rows = rows_for(batch, heads, head_dim, &rng, dtype);
    for (RecordedRows* rows : {&made.k, &made.v})
      *rows = rows_for(batch, kv_heads, head_dim, &rng, dtype);
    for (RecordedRows* rows : {&made.o, &made.dq})
      *rows = rows_for(batch, heads, head_dim, nullptr, dtype);
    for (RecordedRows* rows : {&made.dk, &made.dv})
      *rows = rows_for(batch, kv_heads, head_dim, nullptr, dtype);
  }
}

std::unique_ptr<SegmentRun> RecordedModel::start(const RankTokens& tokens, double, bool) {
  return std::make_unique<RecordedRun>(*this, tokens);
}

RankTokens recorded_tokens(const Batch& batch, Rank rank) {
  RankTokens tokens;
  for (const LocalShard& shard : local_shards(batch, rank)) {
    for (int64_t position = shard.rows.begin; position < shard.rows.end; ++position) {
      tokens.ids.push_back(shard.document);
      tokens.positions.push_back(position);
      tokens.targets.push_back(RankTokens::kNoTarget);
    }
  }
  return tokens;
}

}  // namespace cadenza
