#include "cli/plan/explain.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "core/traffic.h"

namespace cadenza {
namespace {

std::string times_mean(double cost, double mean) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", mean > 0 ? cost / mean : 0.0);
  return text;
}

std::string mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

class Explanation {
 public:
  Explanation(const Plan& plan, const PlanRequest& request, int server)
      : plan_(plan),
        request_(request),
        server_(server),
        named_(static_cast<double>(std::max<int64_t>(named_heads(plan), 1))) {
    double speeds = 0;
    for (const Task& task : plan.tasks) mean_ += cost(task, task.piece);
    for (int s = 0; s < plan.servers; ++s) speeds += request.cluster.speed(s);
    idle_ = request.cluster.speed(server) <= 0;
    mean_ *= (idle_ ? 1 : request.cluster.speed(server)) / speeds;  // idle: shares of speed 1
    for (const Task& task : plan.tasks) sort_out(task);
  }

  std::string text() const {
    std::string out = cat("server ", server_, ": ", times_mean(load_, mean_),
                          " of what its speed makes its share (", plan_.strategy, ", tolerance ",
                          request_.tolerance, ")\n");
    out += cat("  holds ", local_rows(plan_.batch, server_), " tokens of ",
               local_shards(plan_.batch, server_).size(),
               " documents; all attention of their queries is ", times_mean(home_, mean_),
               " of its share", reason(), "\n");
    for (const auto& [to, cost] : given_) {
      out += cat("  gives ", times_mean(cost, mean_), " to server ", to, "\n");
    }
    for (const std::string& line : lines_) out += line;
    const Traffic traffic = forward_traffic(plan_, request_.shape);
    return out + cat("  receives ",
                     mebibytes(traffic.recv_bytes_per_server[static_cast<size_t>(server_)]),
                     " of Q, K and V in one layer's forward\n");
  }

 private:
  double cost(const Task& task, const Piece& piece) const {
    const double share = task.heads.empty() ? 1 : static_cast<double>(task.heads.size()) / named_;
    return share * request_.cost->task_cost(piece);
  }

  const char* reason() const {
    if (idle_) return ": its speed is 0, so it gives all of it away (shares are those of speed 1)";
    const double cap = mean_ * (1 + request_.tolerance);
    if (home_ > cap) return ": too much, so it gives some away";
    if (home_ < mean_) return ": it has time for others";
    return ": about what it can do";
  }

  /// What of a task's queries live here, and what the task asks of this server.
  void sort_out(const Task& task) {
    const Document& document = plan_.batch.documents[static_cast<size_t>(task.document)];
    const bool mine = task.server == server_;
    Range own{0, 0};
    for (const Shard& shard : document.shards) {
      const Piece part =
          trim({intersect(task.piece.q, shard.rows), task.piece.kv, task.piece.band});
      if (part.q.empty()) continue;
      const double c = cost(task, part);
      if (shard.home == server_) {
        home_ += c;
        own = part.q;
        if (!mine) given_[task.server] += c;
      } else if (mine) {
        describe(task, part, c, shard.home);
      }
    }
    if (!mine) return;
    load_ += cost(task, task.piece);
    if (!own.empty()) describe(task, trim({own, task.piece.kv, task.piece.band}), -1, server_);
  }

  void describe(const Task& task, const Piece& part, double c, Rank home) {
    const Document& document = plan_.batch.documents[static_cast<size_t>(task.document)];
    int64_t keys_here = 0;
    for (const Shard& shard : document.shards) {
      if (shard.home == server_) keys_here += intersect(shard.rows, part.kv).size();
    }
    std::string line = home == server_ ? "  keeps" : "  gets";
    line += cat(" document ", task.document, ": queries ", part.q, ", keys ", part.kv);
    if (!task.heads.empty()) line += cat(", query heads ", task.heads);
    line += cat(", ", times_mean(c < 0 ? cost(task, part) : c, mean_), " of its share");
    if (home != server_) line += cat("; queries from server ", home);
    line += cat("; ", keys_here, " of ", part.kv.size(), " keys are its own\n");
    lines_.push_back(line);
  }

  const Plan& plan_;
  const PlanRequest& request_;
  const Rank server_;
  const double named_;
  bool idle_ = false;  // of speed 0
  double mean_ = 0, home_ = 0, load_ = 0;
  std::map<Rank, double> given_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string explain_server(const Plan& plan, const PlanRequest& request, int server) {
  if (server < 0 || server >= plan.servers) {
    throw ConfigError(cat("[--explain] expected a rank from 0 to ", plan.servers - 1, ", got ",
                          server, "; give one of them"));
  }
  return Explanation(plan, request, server).text();
}

}  // namespace cadenza
