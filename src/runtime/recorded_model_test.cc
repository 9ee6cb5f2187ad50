// The recorded model of recorded_model.h: linked into the runtime's tests only.
#include "runtime/recorded_model.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/rng.h"

namespace cadenza {
namespace {

RecordedRows rows_for(const Batch& batch, int64_t heads, int64_t dim, Rng* rng) {
  RecordedRows rows{heads, dim, {}};
  for (const Document& document : batch.documents) {
    auto& values = rows.documents.emplace_back(static_cast<size_t>(document.length * heads * dim));
    if (rng == nullptr) continue;
    for (float& value : values)
      value = static_cast<float>(uniform_between(*rng, -1500, 1500)) / 1000.0f;
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
  template <typename Copy>
  void each_row(RecordedRows& rows, const RowsView& view, const Copy& copy) {
    for (int64_t row = 0; row < view.rows; ++row) {
      const auto at = static_cast<size_t>(row);
      float* recorded = rows.row(tokens_.ids[at], tokens_.positions[at]);
      copy(recorded, view.f32(row, 0), static_cast<size_t>(rows.heads * rows.dim) * sizeof(float));
    }
  }
  void record(const RowsView& from, RecordedRows& to) {
    each_row(to, from, [](float* recorded, float* given, size_t bytes) {
      std::memcpy(recorded, given, bytes);
    });
  }
  void hand_out(RecordedRows& from, const RowsView& to) {
    each_row(from, to, [](float* recorded, float* wanted, size_t bytes) {
      std::memcpy(wanted, recorded, bytes);
    });
  }

  RecordedModel& model_;
  const RankTokens tokens_;
  std::vector<float> losses_;
};

}  // namespace

RecordedModel::RecordedModel(const Batch& batch, int layers, int64_t heads, int64_t kv_heads,
                             int64_t head_dim, uint64_t seed)
    : heads_(heads), kv_heads_(kv_heads), head_dim_(head_dim) {
  Rng rng(seed);
  for (int layer = 0; layer < layers; ++layer) {
    RecordedLayer& made = layers_.emplace_back();
    for (RecordedRows* rows : {&made.q, &made.d_o}) *rows = rows_for(batch, heads, head_dim, &rng);
    for (RecordedRows* rows : {&made.k, &made.v}) *rows = rows_for(batch, kv_heads, head_dim, &rng);
    for (RecordedRows* rows : {&made.o, &made.dq})
      *rows = rows_for(batch, heads, head_dim, nullptr);
    for (RecordedRows* rows : {&made.dk, &made.dv})
      *rows = rows_for(batch, kv_heads, head_dim, nullptr);
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
