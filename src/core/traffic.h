#pragma once

#include <cstdint>
#include <vector>

#include "core/model_shape.h"
#include "core/plan.h"

namespace cadenza {

/// Rows that move between different ranks in one layer's forward pass. A row counts where a server
/// needs it and its home is another rank, once per server however many of its tasks read it; a row
/// without an allowed pair in a task is not needed by it. One partial O row returns per (query row,
/// server that is not its home). A part of the heads counts its share of the row.
struct Traffic {
  int64_t q_bytes = 0;
  int64_t kv_bytes = 0;
  int64_t o_bytes = 0;
  int64_t max_recv_bytes = 0;                  // largest Q + KV that one server receives
  std::vector<int64_t> recv_bytes_per_server;  // Q + KV

  int64_t total() const { return q_bytes + kv_bytes + o_bytes; }
};

/// O(n log n) in tasks.
Traffic forward_traffic(const Plan& plan, const ModelShape& shape);

}  // namespace cadenza
