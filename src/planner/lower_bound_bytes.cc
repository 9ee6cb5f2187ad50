// The larger of two bounds; lower_bound_by_server.cc has the other. The proof of this one in short,
// where every document has one home. f pairs away from their home need x foreign query rows and y
// foreign keys with x·y >= f, at a cost of w·x + y keys, w = (Q + O) / (K + V) bytes: at least c(f)
// = 2·sqrt(w·f). c is subadditive, so all that server s takes from server t costs at least c of the
// sum, and a cheapest flow exists in which no server both gives and takes: t gives exactly its
// surplus S over its cap, s takes at most its room D. So every flow f <= min(S, D), and as c(f) / f
// falls, it costs at least f · max(2·sqrt(w / S), 2·sqrt(w / D)). What is left is a transport
// problem whose cheapest solution matches the largest surplus with the largest room, in order.
#include "planner/lower_bound_bytes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "planner/home_tasks.h"
#include "planner/lower_bound_by_server.h"

namespace cadenza {
namespace {

/// None where a document lives on two servers: then a pair may have two homes, that of its query
/// and that of its key.
std::optional<double> by_surplus_and_room(const Batch& batch, const Cluster& cluster,
                                          const ModelShape& shape, double tolerance) {
  std::vector<double> loads(static_cast<size_t>(cluster.servers), 0.0);
  double pairs = 0, speeds = 0;
  for (const Document& document : batch.documents) {
    if (document.shards.size() > 1) return std::nullopt;
  }
  for (const Task& task : home_tasks(batch)) {
    const auto count = static_cast<double>(count_pairs(task.piece));
    loads[static_cast<size_t>(task.server)] += count;
    pairs += count;
  }
  for (int s = 0; s < cluster.servers; ++s) speeds += cluster.speed(s);
  std::vector<double> surplus, room;
  for (int s = 0; s < cluster.servers; ++s) {
    const double over =
        loads[static_cast<size_t>(s)] - (1 + tolerance) * pairs * cluster.speed(s) / speeds;
    (over > 0 ? surplus : room).push_back(std::abs(over));
  }
  std::sort(surplus.begin(), surplus.end(), std::greater<>());
  std::sort(room.begin(), room.end(), std::greater<>());

  const auto row_bytes = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes());
  const double unit = 2 * std::sqrt(row_bytes * static_cast<double>(shape.kv_row_bytes()));
  double bytes = 0;
  size_t s = 0;
  double taken = 0;  // of room[s]
  for (const double whole : surplus) {
    for (double left = whole; left > 0 && s < room.size();) {
      const double flow = std::min(left, room[s] - taken);
      bytes += flow * unit / std::sqrt(std::min(whole, room[s]));
      left -= flow;
      taken += flow;
      if (taken < room[s]) continue;
      ++s;
      taken = 0;
    }
  }
  return bytes;
}

}  // namespace

double lower_bound_bytes(const Batch& batch, const Cluster& cluster, const ModelShape& shape,
                         double tolerance) {
  return std::max(by_surplus_and_room(batch, cluster, shape, tolerance).value_or(0),
                  lower_bound_by_server(batch, cluster, shape, tolerance));
}

}  // namespace cadenza
