#pragma once

#include <cstdint>

#include "bench/rows_memory.h"
#include "bench/work.h"
#include "kernels/backend.h"

namespace cadenza::bench {

/// Our side: the buffers of one fused call on random rows, and the calls. Q, K, V, O and dO are of
/// `dtype`; LSE, delta and the gradients are fp32.
class OurAttention {
 public:
  /// `work` and `backend` are kept by reference.
  OurAttention(const Work& work, Dtype dtype, Backend& backend);

  /// Both give seconds. The backward follows a forward and takes its O and LSE; counted are delta =
  /// rowsum(dO ∘ O), clearing the gradients, and the backward itself: PyTorch's backward too does
  /// all three.
  double forward();
  double backward();

  const RowsView& q() const { return q_.view(); }
  const RowsView& k() const { return k_.view(); }
  const RowsView& v() const { return v_.view(); }
  const RowsView& d_o() const { return d_o_.view(); }
  const RowsView& o() const { return o_.view(); }
  const RowsView& dq() const { return dq_.view(); }

 private:
  /// Memory that only the backward needs.
  void allocate_gradients();

  const Work& work_;
  Backend& backend_;
  RowsMemory q_, k_, v_, o_, lse_;
  RowsMemory d_o_, delta_, dq_, dk_, dv_;
};

}  // namespace cadenza::bench
