#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "core/cost/attention_grid.h"
#include "core/cost/exchange_cost.h"
#include "core/model_shape.h"

namespace cadenza {

/// How well a profile predicts points that it was not made from: |predicted / measured - 1|.
struct ProfileError {
  int64_t points = 0;
  double median = 0;
  double worst = 0;
};

/// Attention measured on one machine, for one kernel and model shape.
struct Profile {
  std::string kernel;  // "cadenza avx2, 2 threads", ...
  ModelShape shape;
  AttentionGrid forward, backward;
  ProfileError error;
  std::optional<ExchangeCost> exchange = std::nullopt;  // none: not measured
  Json machine = Json::object();                        // what it was measured on, for people
};

/// {"format": "cadenza-profile", "version": 1, "kernel", "model": {"heads", "kv_heads", "head_dim",
/// "dtype"}, "q_rows": [..], "kv_rows": [..], "forward_seconds": [[..]..], "backward_seconds":
/// [[..]..], "own_error": {"points", "median", "worst"}, "exchange": {"latency_seconds",
/// "bytes_per_second", "pack_bytes_per_second"} (optional), "machine": {..}}; the lists of lengths
/// are the domain of validity.
Json profile_to_json(const Profile& profile);

/// DataError with file and field when it is malformed.
Profile read_profile(const std::string& path);

}  // namespace cadenza
