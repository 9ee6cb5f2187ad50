#pragma once

#include <memory>

#include "base/rows_view.h"
#include "bench/work.h"

namespace cadenza::bench {

/// What both sides compute from.
struct AttentionInputs {
  RowsView q, k, v, d_o;
};

/// PyTorch's side of the same work on the same numbers, in the form that is fastest for it: the
/// fused CPU operators below scaled_dot_product_attention called directly, without autograd's
/// bookkeeping; rows copied to contiguous [batch, heads, rows, dim] and masks built outside the
/// timing, masks additive in the dtype of the rows; K and V with their own number of heads where
/// the operators take that and the threads divide it (the backward gives whole kv heads to
/// threads), else repeated outside the timing; V padded with zeros to head_dim where it is
/// narrower, since the fused operators want equal dims. Where K and V are repeated or lie in
/// several calls, the sums of their gradients are left out: to PyTorch's favour.
class TorchAttention {
 public:
  /// `torch` is kept by reference.
  TorchAttention(const AttentionInputs& inputs, const AttentionShape& shape, const TorchWork& torch,
                 int threads);
  ~TorchAttention();

  /// Both give seconds of all calls, for `TorchWork::heads` heads. The backward follows a forward.
  double forward();
  double backward();

  /// Relative distance |ours - PyTorch's| / |PyTorch's| (2-norm over what PyTorch computed) of the
  /// last results.
  double o_distance(const RowsView& o) const;
  double dq_distance(const RowsView& dq) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cadenza::bench
