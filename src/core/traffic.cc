#include "core/traffic.h"

#include <algorithm>

#include "core/arrivals.h"
#include "core/exchange_table.h"
#include "core/home_rows.h"
#include "core/needed_rows.h"
#include "core/row_set.h"

namespace cadenza {
namespace {

std::vector<HomeRows> rows_by_home(const Plan& plan) {
  std::vector<HomeRows> homes;
  homes.reserve(plan.batch.documents.size());
  for (const Document& document : plan.batch.documents) homes.emplace_back(document.shards);
  return homes;
}

// The same with nodes in place of ranks.
std::vector<HomeRows> rows_by_node(const Plan& plan, const Cluster& cluster) {
  std::vector<HomeRows> nodes;
  nodes.reserve(plan.batch.documents.size());
  for (const Document& document : plan.batch.documents) {
    std::vector<Shard> shards = document.shards;
    for (Shard& shard : shards) shard.home = cluster.node_of(shard.home);
    nodes.emplace_back(std::move(shards));
  }
  return nodes;
}

// Rows x heads among the needed ones that do not live at `place`: a rank or a node, as `homes` has
// it.
int64_t row_heads_elsewhere(const std::vector<NeededRows>& needs,
                            const std::vector<HomeRows>& homes, int place) {
  int64_t sum = 0;
  for (const NeededRows& need : needs) {
    const int64_t here = homes[static_cast<size_t>(need.document)].count(need.rows, place);
    sum += (need.rows.size() - here) * need.heads.size();
  }
  return sum;
}

// The same whatever the heads: each row once. Needs are ordered by document.
int64_t rows_elsewhere(const std::vector<NeededRows>& needs, const std::vector<HomeRows>& homes,
                       Rank server) {
  int64_t sum = 0;
  int document = -1;
  RowSet seen;
  for (const NeededRows& need : needs) {
    if (need.document != document) seen = {};
    document = need.document;
    for (const Range rows : seen.add(need.rows)) {
      sum += rows.size() - homes[static_cast<size_t>(document)].count(rows, server);
    }
  }
  return sum;
}

// Rows x heads that cross between nodes.
struct FarRows {
  int64_t q = 0, kv = 0, o = 0;
};

// Rows that come from their homes.
FarRows far_from_homes(const Plan& plan, const std::vector<ServerNeeds>& needs,
                       const Cluster& cluster) {
  const std::vector<HomeRows> nodes = rows_by_node(plan, cluster);
  FarRows far;
  for (size_t server = 0; server < needs.size(); ++server) {
    const int node = cluster.node_of(static_cast<int>(server));
    far.q += row_heads_elsewhere(needs[server].q, nodes, node);
    far.kv += row_heads_elsewhere(needs[server].kv, nodes, node);
  }
  far.o = far.q;
  return far;
}

// One row of one head of O, or its LSE, on its way home.
int64_t output_bytes(RowTensor tensor, const ModelShape& shape) {
  int64_t bytes = 0;
  for (const ExchangedTensor& sent : contents_of(LayerExchange::kOutputs).tensors) {
    if (sent.tensor == tensor) bytes += wire_bytes(sent, shape);
  }
  return bytes;
}

int64_t far_row_heads(const std::vector<Arrival>& arrivals, Rank server, const Cluster& cluster) {
  int64_t sum = 0;
  for (const Arrival& arrival : arrivals) {
    if (!cluster.near(arrival.from, server)) sum += arrival.rows.size() * arrival.heads.size();
  }
  return sum;
}

int64_t count_far_bytes(const Plan& plan, const std::vector<ServerNeeds>& needs,
                        const ModelShape& shape, const Cluster& cluster) {
  if (cluster.servers_per_node == 0) return 0;
  FarRows far = far_from_homes(plan, needs, cluster);
  if (moves_in_rounds(plan)) {
    // Relays pass on Q, K and V; O still goes to its home.
    const auto servers = arrivals_of(plan, shape.heads, shape.kv_heads);
    far.q = far.kv = 0;
    for (size_t server = 0; server < servers.size(); ++server) {
      far.q += far_row_heads(servers[server].q, static_cast<Rank>(server), cluster);
      far.kv += far_row_heads(servers[server].kv, static_cast<Rank>(server), cluster);
    }
  }
  return far.q * wire_bytes(LayerExchange::kInputs, RowKind::kQueries, shape) +
         far.kv * wire_bytes(LayerExchange::kInputs, RowKind::kKeys, shape) +
         far.o * output_bytes(RowTensor::kO, shape);
}

}  // namespace

Traffic forward_traffic(const Plan& plan, const ModelShape& shape, const Cluster& cluster) {
  const std::vector<ServerNeeds> needs = needed_rows(plan, shape.heads, shape.kv_heads);
  const std::vector<HomeRows> homes = rows_by_home(plan);
  const int64_t q_bytes = wire_bytes(LayerExchange::kInputs, RowKind::kQueries, shape);
  const int64_t kv_bytes = wire_bytes(LayerExchange::kInputs, RowKind::kKeys, shape);
  Traffic traffic;
  for (size_t i = 0; i < needs.size(); ++i) {
    const auto server = static_cast<Rank>(i);
    const int64_t q_row_heads = row_heads_elsewhere(needs[i].q, homes, server);
    const int64_t q = q_row_heads * q_bytes;
    const int64_t kv = row_heads_elsewhere(needs[i].kv, homes, server) * kv_bytes;
    traffic.q_bytes += q;
    traffic.kv_bytes += kv;
    // One O row goes back for each.
    traffic.o_bytes += q_row_heads * output_bytes(RowTensor::kO, shape);
    traffic.lse_bytes += q_row_heads * output_bytes(RowTensor::kLse, shape);
    traffic.recv_bytes_per_server.push_back(q + kv);
    traffic.max_recv_bytes = std::max(traffic.max_recv_bytes, q + kv);
    traffic.max_extra_kv_rows =
        std::max(traffic.max_extra_kv_rows, rows_elsewhere(needs[i].kv, homes, server));
  }
  traffic.max_extra_kv_bytes = traffic.max_extra_kv_rows * shape.kv_row_bytes();
  traffic.far_bytes = count_far_bytes(plan, needs, shape, cluster);
  return traffic;
}

BackwardTraffic backward_traffic(const Traffic& forward, const ModelShape& shape,
                                 BackwardInputs inputs) {
  const auto row_bytes = [&](RowKind rows) {
    return wire_bytes(LayerExchange::kGradientInputs, rows, shape, inputs) +
           wire_bytes(LayerExchange::kGradientOutputs, rows, shape);
  };
  const auto row_heads = [&](int64_t bytes, RowKind rows) {
    return bytes / wire_bytes(LayerExchange::kInputs, rows, shape);
  };
  return {.q_bytes = row_heads(forward.q_bytes, RowKind::kQueries) * row_bytes(RowKind::kQueries),
          .kv_bytes = row_heads(forward.kv_bytes, RowKind::kKeys) * row_bytes(RowKind::kKeys)};
}

}  // namespace cadenza
