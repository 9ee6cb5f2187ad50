#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/cluster.h"
#include "core/cost_model.h"
#include "core/model_shape.h"
#include "core/plan.h"

namespace cadenza {

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
  double tolerance = 0.05;          // no server above (1 + tolerance) × mean
};

/// One row of the strategy table.
struct Strategy {
  const char* name;
  const char* summary;  // one line, for --help
  Plan (*plan)(const PlanRequest& request);
};

/// The table, explicit: a new strategy is one file and one row.
std::span<const Strategy> all_strategies();

/// ConfigError with the nearest name when there is none of that name.
const Strategy& find_strategy(const std::string& name);

}  // namespace cadenza
