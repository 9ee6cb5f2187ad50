#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attention/attention_spec.h"
#include "base/rows_view.h"
#include "core/mask.h"

namespace cadenza {

/// The rows of one rank in one micro-batch, in the order of its home layout.
struct RankTokens {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;  // inside the document, also in shards that start inside it
  std::vector<int64_t>
      targets;  // the next token of the same document; kNoTarget where there is none

  static constexpr int64_t kNoTarget = -100;
  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
};

/// One pass of one micro-batch (or nano-batch) through the context-independent parts of the model.
/// Segment s of layers + 1 is:  0: embed + pre(0);   s: post(s-1) + pre(s);   layers: post(last) +
/// head + loss. Forward in the order 0 .. layers, backward in the reverse order. Attention between
/// two segments is the caller's: the autograd graph is cut there.
class SegmentRun {
 public:
  virtual ~SegmentRun() = default;

  /// Writes q, k, v (RoPE applied) of layer `segment` into `out`; `o` is the attention output of
  /// layer segment - 1 (ignored for segment 0), and must stay unchanged until the segment's
  /// backward. For the last segment `out` is ignored, the loss is computed, and (when training)
  /// head gradients are accumulated in the same pass over row chunks.
  virtual void forward(int segment, const RowsView& o, const QkvViews& out) = 0;

  /// Takes dq, dk, dv of layer `segment` (ignored for the last segment), writes d_o of layer
  /// segment - 1 (not for segment 0), accumulates parameter gradients of loss_sum × loss_scale into
  /// the model's flat gradient.
  virtual void backward(int segment, const QkvViews& d_qkv, const RowsView& d_o) = 0;

  /// After the last segment's forward: the loss of every row, 0 where there is no target.
  virtual const std::vector<float>& row_losses() const = 0;

  /// After backward(0): first row whose embedding gradient is not finite, -1 when all are.
  virtual int64_t first_bad_row() const = 0;
};

/// A model as segments, on one device, knowing no rank.
class Segments {
 public:
  virtual ~Segments() = default;
  virtual int layers() const = 0;
  virtual int64_t heads() const = 0;
  virtual int64_t kv_heads() const = 0;
  virtual int64_t head_dim() const = 0;
  /// Of all rows that segments take and give: q, k, v, o and their gradients.
  virtual Dtype dtype() const = 0;
  /// Masks of documents, one for each kind of layer; softmax() says which layer is of which kind.
  virtual std::vector<Mask> masks() const { return {Mask{}}; }
  /// Scale, sinks and kind of a layer. What it refers to stays as long as the model.
  virtual LayerSoftmax softmax(int /*layer*/) const {
    return {.scale = default_softmax_scale(head_dim())};
  }

  /// loss_scale: 1 / number of targets of the whole global batch (0 where there is none).
  /// `training` false: no graph is kept and backward may not be called.
  virtual std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double loss_scale,
                                            bool training) = 0;
};

}  // namespace cadenza
