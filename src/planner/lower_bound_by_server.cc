// The proof. One K + V row costs 1, one Q + O row w. A pair is *home-home* for a server if its
// query and its key both live there: it costs nothing. Let server s have H_s of them, compute F
// other pairs, and fetch x query rows and y key rows of a document of which h rows live there and M
// do not. The other pairs that it can compute of this document are at most
//
//   P(x, y) = h·x (foreign query, home key) + h·y (home query, foreign key) + x·y,   x, y <= M,
//
// where under a causal mask only the rows after the home rows count in the first term, and only the
// keys before them in the second. So f pairs of the document cost at least
//
//   v(f) = min { w·x + y : P(x, y) >= f },
//
// and with h = 0 at least 2·sqrt(w·f), which is subadditive: all documents of which s holds nothing
// cost together at least 2·sqrt(w·F). The least cost C_s(F) is that of the best split of F among
// those and the documents that live partly on s; it does not fall as F grows.
//
// All T pairs are computed: the sum over s of min(H_s + F_s, cap_s) is at least T. For any price z
// of a pair (a Lagrange multiplier),
//
//   cost >= z·T + sum over s of min over F of ( C_s(F) − z·min(H_s + F, cap_s) ).
//
// F is cut into cells; a cell has C of its lower end and min(..) of its upper end, which only
// lowers the right side. Every z gives a bound; the best is found by bisection of a concave
// function's top.
#include "planner/lower_bound_by_server.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "planner/home_tasks.h"

namespace cadenza {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Of a document that lives partly on a server.
struct Part {
  double rows = 0;               // that live there
  double foreign = 0;            // that do not
  double queries = 0, keys = 0;  // foreign rows after, and before, any home row
  double pairs = 0;              // of the document that are not home-home
};

/// All that is known of a server: its free pairs, its cap, and documents that it holds partly.
struct Server {
  double home = 0, cap = 0;
  std::vector<Part> parts;
};

/// v(f), from below: x in [x_i, x_i+1] pays for x_i and computes what x_i+1 allows.
double cost_of_part(const Part& part, double f, double w) {
  if (f <= 0) return 0;
  if (f > part.pairs) return kInfinite;
  constexpr double kStep = 1.06;
  double best = kInfinite;
  double low = 0;
  for (double high = std::min(64.0, part.foreign); w * low < best;
       high = std::min(high * kStep, part.foreign)) {
    const double left = f - part.rows * std::min(high, part.queries);
    double y = left > 0 ? left / (part.rows + high) : 0;
    if (y > part.keys) y = high > 0 ? (left - part.rows * part.keys) / high : kInfinite;
    if (y <= part.foreign) best = std::min(best, w * low + y);
    if (high >= part.foreign) break;
    low = high;
  }
  return best;
}

/// C_s at the lower ends of the cells.
std::vector<double> least_costs(const Server& server, int cells, double w) {
  const double width = server.cap / cells;
  std::vector<double> costs(static_cast<size_t>(cells));
  for (int k = 0; k < cells; ++k) costs[static_cast<size_t>(k)] = 2 * std::sqrt(w * k * width);
  for (const Part& part : server.parts) {
    std::vector<double> of_part;
    for (int k = 0; k < cells; ++k) {
      of_part.push_back(cost_of_part(part, k * width, w));
      if (of_part.back() == kInfinite) break;
    }
    // What two cells i and j share lies in cell i + j or the next: cell k is reached from k − 1.
    std::vector<double> both(costs.size(), 0.0);
    for (size_t k = 1; k < both.size(); ++k) {
      both[k] = kInfinite;
      for (size_t i = 0; i < of_part.size() && i < k; ++i)
        both[k] = std::min(both[k], of_part[i] + costs[k - 1 - i]);
      both[k] = std::max(both[k], both[k - 1]);
    }
    costs = std::move(both);
  }
  return costs;
}

class Dual {
 public:
  Dual(const std::vector<Server>& servers, double pairs, double w)
      : servers_(servers), pairs_(pairs), cells_(servers.size() > 512 ? 64 : 256) {
    for (const Server& server : servers) costs_.push_back(least_costs(server, cells_, w));
  }

  double at(double z) const {
    double value = z * pairs_;
    for (size_t s = 0; s < servers_.size(); ++s) {
      const Server& server = servers_[s];
      double least = kInfinite;
      for (int k = 0; k < cells_; ++k) {
        const double upper = server.cap * (k + 1) / cells_;
        least = std::min(least, costs_[s][static_cast<size_t>(k)] -
                                    z * std::min(server.home + upper, server.cap));
      }
      value += least;
    }
    return value;
  }

 private:
  const std::vector<Server>& servers_;
  double pairs_;
  int cells_;
  std::vector<std::vector<double>> costs_;
};

bool is_causal(const Document& document) { return document.mask.kind == Mask::Kind::kCausal; }

Part part_on(const Document& document, Rank server) {
  Part part;
  int64_t begin = document.length, end = 0;
  for (const Shard& shard : document.shards) {
    if (shard.home != server) continue;
    part.rows += static_cast<double>(shard.rows.size());
    begin = std::min(begin, shard.rows.begin);
    end = std::max(end, shard.rows.end);
  }
  part.foreign = static_cast<double>(document.length) - part.rows;
  const bool one_range = static_cast<double>(end - begin) == part.rows;
  const bool known = is_causal(document) && one_range;
  part.queries = known ? static_cast<double>(document.length - end) : part.foreign;
  part.keys = known ? static_cast<double>(begin) : part.foreign;
  return part;
}

std::vector<Server> servers_of(const Batch& batch, const Cluster& cluster, double tolerance,
                               double& pairs) {
  std::vector<Server> servers(static_cast<size_t>(cluster.servers));
  std::vector<double> of_document(batch.documents.size(), 0.0);
  std::vector<std::vector<std::pair<Rank, double>>> home(batch.documents.size());
  for (const Task& task : home_tasks(batch)) {
    const auto d = static_cast<size_t>(task.document);
    of_document[d] += static_cast<double>(count_pairs(task.piece));
    for (const Shard& shard : batch.documents[d].shards) {
      if (shard.home != task.server) continue;
      const Piece own{task.piece.q, intersect(task.piece.kv, shard.rows), task.piece.band};
      home[d].emplace_back(shard.home, static_cast<double>(count_pairs(own)));
    }
  }
  for (size_t d = 0; d < batch.documents.size(); ++d) {
    pairs += of_document[d];
    std::vector<Rank> ranks;
    for (const Shard& shard : batch.documents[d].shards) ranks.push_back(shard.home);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const Rank rank : ranks) {
      double own = 0;
      for (const auto& [server, count] : home[d]) own += server == rank ? count : 0;
      servers[static_cast<size_t>(rank)].home += own;
      if (ranks.size() < 2) continue;
      Part part = part_on(batch.documents[d], rank);
      part.pairs = of_document[d] - own;
      servers[static_cast<size_t>(rank)].parts.push_back(part);
    }
  }
  double speeds = 0;
  for (Rank s = 0; s < cluster.servers; ++s) speeds += cluster.speed(s);
  for (Rank s = 0; s < cluster.servers; ++s) {
    servers[static_cast<size_t>(s)].cap = (1 + tolerance) * pairs * cluster.speed(s) / speeds;
  }
  return servers;
}

}  // namespace

double lower_bound_by_server(const Batch& batch, const Cluster& cluster, const ModelShape& shape,
                             double tolerance) {
  double pairs = 0;
  const std::vector<Server> servers = servers_of(batch, cluster, tolerance, pairs);
  if (pairs <= 0) return 0;
  const auto key = static_cast<double>(shape.kv_row_bytes());
  const double w = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes()) / key;
  const Dual dual(servers, pairs, w);
  double low = 0, high = 8 * std::sqrt(w * cluster.servers / pairs);  // keys a pair
  for (int i = 0; i < 60; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (dual.at(a) < dual.at(b) ? low : high) = dual.at(a) < dual.at(b) ? a : b;
  }
  return key * std::max(0.0, dual.at(low));
}

}  // namespace cadenza
