#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/batch.h"
#include "core/cluster.h"
#include "core/cost_model.h"
#include "core/model_shape.h"
#include "core/plan.h"

namespace cadenza {

/// Where `cad` lets tokens live: as homes say (sequential fill where none are given), or where it
/// likes.
enum class Placement { kFill, kFree };

/// How long `cad` may search: milliseconds, for planning while a step runs; or seconds.
enum class Effort { kQuick, kThorough };

/// `mesh` cuts the tokens into as many chunks as there are homes; each computes q_chunks ×
/// kv_chunks of the chunk pairs, and their product is the number of homes. {1, n} is ring.
struct MeshShape {
  int q_chunks = 1;
  int kv_chunks = 1;
};

/// What may be asked of a plan besides its balance. Each strategy reads what concerns it.
struct PlanOptions {
  bool split_kv = true;        // cad: a task may read a part of the keys that its queries see
  double far_link_weight = 1;  // cad: a byte between nodes counts as this many inside one
  Placement placement = Placement::kFill;
  Effort effort = Effort::kQuick;
  // Hard limits on each server, of one layer's forward: Q + K + V bytes that it receives, and K + V
  // bytes among them. PlanError with the smallest limit that would do when it cannot be kept.
  std::optional<int64_t> max_recv_bytes, max_extra_kv_bytes;
  std::optional<int64_t> capacity;  // tokens a rank may hold, where a strategy places documents;
                                    // default tokens_per_rank
  std::optional<MeshShape> mesh;    // default: what moves fewest bytes
};

/// What a strategy is given: documents and cluster, and homes where the data already lies
/// somewhere.
struct PlanRequest {
  std::vector<Document> documents;  // shards are the homes where `homes_given`, ignored otherwise
  bool homes_given = false;
  int homes = 1;                // ranks that hold tokens, <= cluster.servers
  int64_t tokens_per_rank = 0;  // room of each home
  Cluster cluster;
  ModelShape shape;
  const CostModel* cost = nullptr;  // required
  double tolerance = 0.02;          // no server above (1 + tolerance) × mean
  PlanOptions options;
};

/// A strategy cannot plan this request exactly, and says why and what it could plan.
class NotApplicable : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

/// A strategy that places documents finds no room for them.
class NeedsCapacity final : public NotApplicable {
 public:
  /// `capacity`: tokens a rank that would do.
  NeedsCapacity(const std::string& message, int64_t capacity)
      : NotApplicable(message), capacity_(capacity) {}
  int64_t capacity() const { return capacity_; }

 private:
  int64_t capacity_;
};

/// One row of the strategy table.
struct Strategy {
  const char* name;
  const char* summary;  // one line, for --help
  Plan (*plan)(const PlanRequest& request);
  bool places_tokens = false;  // chooses the homes itself: NotApplicable where homes are given
};

/// The table, explicit: a new strategy is one file and one row.
std::span<const Strategy> all_strategies();

/// ConfigError with the nearest name when there is none of that name.
const Strategy& find_strategy(const std::string& name);

}  // namespace cadenza
