#include "planner/balance.h"

#include <algorithm>
#include <array>
#include <vector>

#include "planner/home_tasks.h"
#include "planner/tile.h"

namespace cadenza {
namespace {

Range tile_of(int64_t row) { return {row / kTile * kTile, row / kTile * kTile + kTile}; }

/// Cost of the most expensive tile found of one home task. Tiles at the ends, next to them and in
/// the middle are tried: the largest of some tiles is a lower bound as valid as the largest of all,
/// and under convex masks one of these is largest.
double largest_tile(const Piece& piece, const CostModel& cost) {
  const Range q = piece.q;
  double largest = 0;
  for (const int64_t row :
       std::array{q.end - 1, q.end - 1 - kTile, q.begin + q.size() / 2, q.begin}) {
    const Range rows = intersect(tile_of(std::max(row, q.begin)), q);
    const Range kv = trim({rows, piece.kv, piece.band}).kv;
    for (const int64_t key :
         std::array{kv.begin, kv.begin + kTile, kv.begin + kv.size() / 2, kv.end - 1}) {
      const Range keys = intersect(tile_of(std::min(key, kv.end - 1)), piece.kv);
      largest = std::max(largest, cost.task_cost(trim({rows, keys, piece.band})));
    }
  }
  return largest;
}

}  // namespace

Balance balance_of(const Plan& plan, const Cluster& cluster, const CostModel& cost) {
  std::vector<double> loads(static_cast<size_t>(plan.servers), 0.0);
  double total = 0;
  double speeds = 0;
  const auto named = static_cast<double>(std::max<int64_t>(named_heads(plan), 1));
  for (const Task& task : plan.tasks) {
    const double share = task.heads.empty() ? 1 : static_cast<double>(task.heads.size()) / named;
    const double c = share * cost.task_cost(task.piece);
    if (c > 0) loads[static_cast<size_t>(task.server)] += c / cluster.speed(task.server);
    total += c;
  }
  double fastest = 0;
  for (int s = 0; s < plan.servers; ++s) {
    speeds += cluster.speed(s);
    fastest = std::max(fastest, cluster.speed(s));
  }
  if (total <= 0) return {};
  const double mean = total / speeds;
  double lump = 0;
  for (const Task& task : home_tasks(plan.batch))
    lump = std::max(lump, largest_tile(task.piece, cost));
  return {.max_over_mean = *std::max_element(loads.begin(), loads.end()) / mean,
          .lower_bound_over_mean = std::max(1.0, lump / fastest / mean)};
}

}  // namespace cadenza
