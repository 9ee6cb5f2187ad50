#pragma once

#include <cstdint>

#include "base/units.h"

namespace cadenza {

/// What attention, planner and exchange need to know of a model. Query head h reads kv head h /
/// (heads / kv_heads).
struct ModelShape {
  int64_t heads = 32;
  int64_t kv_heads = 8;
  int64_t head_dim = 128;
  Dtype dtype = Dtype::kBFloat16;  // of Q, K, V and O rows on the wire

  int64_t q_row_bytes() const { return heads * head_dim * dtype_bytes(dtype); }
  int64_t kv_row_bytes() const { return 2 * kv_heads * head_dim * dtype_bytes(dtype); }  // K and V
  int64_t o_row_bytes() const {
    return q_row_bytes();
  }  // O alone; its LSE (4 bytes a head) is counted apart
};

}  // namespace cadenza
