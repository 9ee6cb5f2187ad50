#pragma once

#include <memory>
#include <vector>

#include "core/batch.h"
#include "step/segments.h"

namespace cadenza {

/// Rows of every document of a batch, packed by document: what a model would hold on one rank.
struct RecordedRows {
  int64_t heads = 0, dim = 0;
  std::vector<std::vector<float>> documents;  // [document][position, head, dim]

  float* row(int64_t document, int64_t position) {
    return documents[static_cast<size_t>(document)].data() + position * heads * dim;
  }
};

/// Inputs and results of attention in one layer, whole documents.
struct RecordedLayer {
  RecordedRows q, k, v, d_o;   // given
  RecordedRows o, dq, dk, dv;  // what the runtime hands to the model
};

/// A model for tests of the runtime, without libtorch: its segments hand out recorded q, k, v and
/// d_o and record the o, dq, dk, dv that come back. Ids of a rank's tokens are document numbers.
/// Ranks as threads may share one: they touch different rows.
class RecordedModel final : public Segments {
 public:
  /// Random values of about unit size that `dtype` holds exactly, equal for equal seeds.
  RecordedModel(const Batch& batch, int layers, int64_t heads, int64_t kv_heads, int64_t head_dim,
                uint64_t seed, Dtype dtype = Dtype::kFloat32);

  int layers() const override { return static_cast<int>(layers_.size()); }
  int64_t heads() const override { return heads_; }
  int64_t kv_heads() const override { return kv_heads_; }
  int64_t head_dim() const override { return head_dim_; }
  Dtype dtype() const override { return dtype_; }
  std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double loss_scale,
                                    bool training) override;

  RecordedLayer& layer(int index) { return layers_[static_cast<size_t>(index)]; }

 private:
  int64_t heads_, kv_heads_, head_dim_;
  Dtype dtype_;
  std::vector<RecordedLayer> layers_;
};

/// A rank's rows with document numbers as ids.
RankTokens recorded_tokens(const Batch& batch, Rank rank);

}  // namespace cadenza
