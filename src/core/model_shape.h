#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace cadenza {

/// What attention, planner and exchange need to know of a model. Query head h reads kv head h /
/// (heads / kv_heads).
struct ModelShape {
  int64_t heads = 32;
  int64_t kv_heads = 8;
  int64_t head_dim = 128;
  Dtype dtype = Dtype::kBFloat16;   // of Q, K, V, O and dO rows on the wire
  std::optional<Dtype> grad_dtype;  // of dQ, dK and dV rows on the wire; default dtype

  Dtype gradient_dtype() const { return grad_dtype.value_or(dtype); }
  int64_t q_row_bytes() const { return heads * head_dim * dtype_bytes(dtype); }
  int64_t kv_row_bytes() const { return 2 * kv_heads * head_dim * dtype_bytes(dtype); }  // K and V
  int64_t o_row_bytes() const {
    return q_row_bytes();
  }  // O alone; its LSE (4 bytes a head) is counted apart
};

}  // namespace cadenza
