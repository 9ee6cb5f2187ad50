// For each server and document, tasks are visited by (round, id). What a task reads and the server
// does not hold yet arrives in its round, from its home or from the task's relay. Head ranges of
// the document's tasks cut the heads into intervals that every task reads wholly or not at all;
// each has its own set of held rows.
#include "core/arrivals.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "core/row_set.h"

namespace cadenza {
namespace {

auto order_of(const Arrival& a) {
  return std::tuple(a.round, a.document, a.heads.begin, a.rows.begin);
}

/// Reads of one kind (Q, or K and V) by one task.
struct Read {
  Range rows;
  Range heads;
  int round;
  Rank via;
};

std::vector<Range> head_intervals(const std::vector<Read>& reads) {
  std::vector<int64_t> cuts;
  for (const Read& read : reads) cuts.insert(cuts.end(), {read.heads.begin, read.heads.end});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Range> intervals;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) intervals.push_back({cuts[i], cuts[i + 1]});
  return intervals;
}

/// One document's reads on one server.
class DocumentArrivals {
 public:
  DocumentArrivals(const Document& document, int index, Rank server, std::vector<Arrival>& arrivals)
      : shards_(document.shards), index_(index), server_(server), arrivals_(arrivals) {}

  void append(const std::vector<Read>& reads) {
    for (const Range heads : head_intervals(reads)) {
      RowSet held;
      for (const Shard& shard : shards_) {
        if (shard.home == server_) held.add(shard.rows);
      }
      for (const Read& read : reads) {
        if (!read.heads.contains(heads)) continue;
        for (const Range rows : held.add(read.rows)) arrive(rows, heads, read);
      }
    }
  }

 private:
  void arrive(Range rows, Range heads, const Read& read) {
    if (read.via != Task::kHome) {
      arrivals_.push_back({index_, rows, heads, read.round, read.via});
      return;
    }
    auto shard = std::partition_point(shards_.begin(), shards_.end(), [&](const Shard& candidate) {
      return candidate.rows.end <= rows.begin;
    });
    for (; shard != shards_.end() && shard->rows.begin < rows.end; ++shard) {
      arrivals_.push_back({index_, intersect(rows, shard->rows), heads, read.round, shard->home});
    }
  }

  const std::vector<Shard>& shards_;
  int index_;
  Rank server_;
  std::vector<Arrival>& arrivals_;
};

void append_document(const Plan& plan, const std::vector<size_t>& ids, int64_t heads, int64_t ratio,
                     ServerArrivals& arrivals) {
  std::vector<Read> q, kv;
  for (const size_t id : ids) {
    const Task& task = plan.tasks[id];
    const Piece piece = trim(task.piece);
    const Range q_heads = task.heads.empty() ? Range{0, heads} : task.heads;
    CADENZA_CHECK((Range{0, heads}.contains(q_heads)), "task ", id, " heads ", q_heads);
    q.push_back({piece.q, q_heads, task.round, task.via});
    kv.push_back({piece.kv,
                  {q_heads.begin / ratio, (q_heads.end + ratio - 1) / ratio},
                  task.round,
                  task.via});
  }
  const Task& first = plan.tasks[ids.front()];
  const Document& document = plan.batch.documents[static_cast<size_t>(first.document)];
  DocumentArrivals(document, first.document, first.server, arrivals.q).append(q);
  DocumentArrivals(document, first.document, first.server, arrivals.kv).append(kv);
}

/// What each server holds of each document, and since which round: arrivals by (document, heads,
/// rows), which do not overlap.
class Holdings {
 public:
  Holdings(const Plan& plan, const std::vector<ServerArrivals>& servers,
           std::vector<Arrival> ServerArrivals::*kind)
      : plan_(plan), kind_(kind) {
    for (const ServerArrivals& server : servers) {
      by_server_.push_back(server.*kind);
      std::sort(by_server_.back().begin(), by_server_.back().end(),
                [](const Arrival& a, const Arrival& b) { return key(a) < key(b); });
    }
  }

  void check(const std::vector<ServerArrivals>& servers) const {
    for (size_t server = 0; server < servers.size(); ++server) {
      for (const Arrival& arrival : servers[server].*kind_) {
        if (row_heads_held(arrival) == arrival.rows.size() * arrival.heads.size()) continue;
        throw PlanError(cat(
            "[verify] document ", arrival.document, ": expected server ", arrival.from,
            " to hold rows ", arrival.rows, " before round ", arrival.round, ", in which server ",
            server, " gets them via it, got ", row_heads_held(arrival), " of ",
            arrival.rows.size() * arrival.heads.size(), " rows x heads; correct via or round"));
      }
    }
  }

 private:
  using Key = std::tuple<int, int64_t, int64_t>;
  static Key key(const Arrival& a) { return {a.document, a.heads.begin, a.rows.begin}; }

  /// Rows × heads of the arrival that its source holds before its round.
  int64_t row_heads_held(const Arrival& wanted) const {
    int64_t sum = 0;
    for (const Shard& shard : plan_.batch.documents[static_cast<size_t>(wanted.document)].shards) {
      if (shard.home == wanted.from)
        sum += intersect(shard.rows, wanted.rows).size() * wanted.heads.size();
    }
    const std::vector<Arrival>& held = by_server_[static_cast<size_t>(wanted.from)];
    auto at = std::lower_bound(held.begin(), held.end(), wanted.document,
                               [](const Arrival& a, int d) { return a.document < d; });
    while (at != held.end() && at->document == wanted.document) {
      const Range heads = at->heads;
      if (!intersect(heads, wanted.heads).empty()) sum += held_of_interval(held, at, wanted);
      at = std::upper_bound(at, held.end(), Key{wanted.document, heads.begin, INT64_MAX},
                            [](const Key& k, const Arrival& a) { return k < key(a); });
    }
    return sum;
  }

  /// The same among the arrivals of one interval of heads, which begin at `first`.
  static int64_t held_of_interval(const std::vector<Arrival>& held,
                                  std::vector<Arrival>::const_iterator first,
                                  const Arrival& wanted) {
    const Range heads = intersect(first->heads, wanted.heads);
    auto at = std::upper_bound(first, held.end(),
                               Key{wanted.document, first->heads.begin, wanted.rows.begin},
                               [](const Key& k, const Arrival& a) { return k < key(a); });
    if (at != first) --at;
    int64_t rows = 0;
    for (; at != held.end() && at->document == wanted.document &&
           at->heads.begin == first->heads.begin && at->rows.begin < wanted.rows.end;
         ++at) {
      if (at->round < wanted.round) rows += intersect(at->rows, wanted.rows).size();
    }
    return rows * heads.size();
  }

  const Plan& plan_;
  std::vector<Arrival> ServerArrivals::*kind_;
  std::vector<std::vector<Arrival>> by_server_;
};

}  // namespace

bool moves_in_rounds(const Plan& plan) {
  return std::any_of(plan.tasks.begin(), plan.tasks.end(),
                     [](const Task& task) { return task.round != 0 || task.via != Task::kHome; });
}

std::vector<ServerArrivals> arrivals_of(const Plan& plan, int64_t heads, int64_t kv_heads) {
  CADENZA_CHECK(heads >= 1 && kv_heads >= 1 && heads % kv_heads == 0, heads, " heads, ", kv_heads,
                " kv heads");
  const auto group_of = [&](size_t id) {
    return std::pair(plan.tasks[id].server, plan.tasks[id].document);
  };
  std::vector<size_t> order(plan.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(group_of(a), plan.tasks[a].round) <
           std::pair(group_of(b), plan.tasks[b].round);
  });
  std::vector<ServerArrivals> servers(static_cast<size_t>(plan.servers));
  std::vector<size_t> group;
  for (size_t i = 0; i < order.size(); ++i) {
    group.push_back(order[i]);
    if (i + 1 < order.size() && group_of(order[i]) == group_of(order[i + 1])) continue;
    append_document(plan, group, heads, heads / kv_heads,
                    servers[static_cast<size_t>(plan.tasks[order[i]].server)]);
    group.clear();
  }
  for (const auto kind : {&ServerArrivals::q, &ServerArrivals::kv}) {
    Holdings(plan, servers, kind).check(servers);
    for (ServerArrivals& server : servers) {
      std::sort((server.*kind).begin(), (server.*kind).end(),
                [](const Arrival& a, const Arrival& b) { return order_of(a) < order_of(b); });
    }
  }
  return servers;
}

}  // namespace cadenza
