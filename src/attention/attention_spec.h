#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "base/rows_view.h"
#include "core/exchange_table.h"
#include "core/model_shape.h"

namespace cadenza {

/// Rows of one attention layer at home. q: [rows, heads, head_dim]; k, v: [rows, kv_heads,
/// head_dim].
struct QkvViews {
  RowsView q, k, v;
};

/// Sink logits of one layer, one per query head: [1, heads, 1] fp32. They take part in the softmax
/// of every row and have no value (Backend::apply_sinks). The backward adds into `gradient`, for
/// this rank's rows; ranks are summed like all gradients.
struct SinkViews {
  RowsView logits, gradient;
};

/// The softmax of one layer.
struct LayerSoftmax {
  float scale = 1;                 // of scores
  std::optional<SinkViews> sinks;  // none: over keys alone
  int kind = 0;                    // layers of one kind share a mask, and so a plan and its program
};

/// What attention needs to know of the model that it serves.
struct AttentionSpec {
  ModelShape shape;  // heads and widths; dtype of rows, and of gradients on the wire
  std::vector<LayerSoftmax> layers;
  // What servers compute the backward from: memory kept since the forward, or bytes sent again.
  BackwardInputs inputs = BackwardInputs::kKept;
};

/// The usual scale of scores.
inline float default_softmax_scale(int64_t head_dim) {
  return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

}  // namespace cadenza
