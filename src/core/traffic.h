#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster.h"
#include "core/exchange_table.h"
#include "core/model_shape.h"
#include "core/plan.h"

namespace cadenza {

/// Rows that move between different ranks in one layer's forward pass. A row counts where a server
/// needs it and its home is another rank, once per server however many of its tasks read it; a row
/// without an allowed pair in a task is not needed by it. One partial O row returns per (query row,
/// server that is not its home). A part of the heads counts its share of the row. A row that a
/// relay passes on counts like one from its home; only far_bytes depends on the way.
struct Traffic {
  int64_t q_bytes = 0;
  int64_t kv_bytes = 0;
  int64_t o_bytes = 0;
  int64_t lse_bytes = 0;                       // fp32, beside the O rows; not in total()
  int64_t far_bytes = 0;                       // Q, KV and O between nodes; the others are near
  int64_t max_recv_bytes = 0;                  // largest Q + KV that one server receives
  std::vector<int64_t> recv_bytes_per_server;  // Q + KV
  /// Largest number of KV rows at one server that are not its own, and their bytes in one layer.
  /// They stay until the layer's backward, as whole rows even where tasks read some heads only.
  int64_t max_extra_kv_rows = 0;
  int64_t max_extra_kv_bytes = 0;

  int64_t total() const { return q_bytes + kv_bytes + o_bytes; }
};

/// O(n log n) in tasks. Where the cluster has nodes, PlanError if a relay does not hold what it is
/// to pass on.
Traffic forward_traffic(const Plan& plan, const ModelShape& shape, const Cluster& cluster = {});

/// Bytes between different ranks in the same layer's backward pass. All of it goes straight between
/// a row's home and its servers.
struct BackwardTraffic {
  int64_t q_bytes = 0;   // dO, LSE and D to the server, dQ back
  int64_t kv_bytes = 0;  // dK and dV back

  int64_t total() const { return q_bytes + kv_bytes; }
};

/// Of the plan and shape that `forward` was counted for: every row that went to a server has a
/// gradient there.
BackwardTraffic backward_traffic(const Traffic& forward, const ModelShape& shape,
                                 BackwardInputs inputs = BackwardInputs::kKept);

}  // namespace cadenza
