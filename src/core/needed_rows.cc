#include "core/needed_rows.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace cadenza {
namespace {

// One task's reading of rows × heads.
struct Read {
  Range rows;
  Range heads;
};

// The union of the rows of all reads that cover `heads`, as disjoint ranges without gaps of zero
// between them. `reads` are ordered by rows.begin.
std::vector<Range> union_of_rows(const std::vector<Read>& reads, Range heads) {
  std::vector<Range> rows;
  for (const Read& read : reads) {
    if (!read.heads.contains(heads)) continue;
    if (!rows.empty() && read.rows.begin <= rows.back().end) {
      rows.back().end = std::max(rows.back().end, read.rows.end);
    } else {
      rows.push_back(read.rows);
    }
  }
  return rows;
}

// Head numbers at which some read begins or ends, ascending.
std::vector<int64_t> head_boundaries(const std::vector<Read>& reads) {
  std::vector<int64_t> boundaries;
  boundaries.reserve(2 * reads.size());
  for (const Read& read : reads) {
    boundaries.push_back(read.heads.begin);
    boundaries.push_back(read.heads.end);
  }
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  return boundaries;
}

// Between two neighbouring boundaries all heads need the same rows: unite the rows there, and join
// neighbouring head intervals that turn out equal.
void append_needs(int document, std::vector<Read> reads, std::vector<NeededRows>& needs) {
  std::sort(reads.begin(), reads.end(),
            [](const Read& a, const Read& b) { return a.rows.begin < b.rows.begin; });
  const std::vector<int64_t> boundaries = head_boundaries(reads);
  Range heads;
  std::vector<Range> rows;
  const auto flush = [&] {
    for (const Range range : rows) needs.push_back({document, range, heads});
  };
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    const Range interval{boundaries[i], boundaries[i + 1]};
    std::vector<Range> here = union_of_rows(reads, interval);
    if (heads.end == interval.begin && here == rows) {
      heads.end = interval.end;
      continue;
    }
    flush();
    heads = interval;
    rows = std::move(here);
  }
  flush();
}

Range resolved_heads(const Task& task, int64_t heads) {
  if (task.heads.empty()) return {0, heads};
  if (Range{0, heads}.contains(task.heads)) return task.heads;
  throw PlanError(cat("[plan] document ", task.document, ": expected head ranges inside [0, ",
                      heads, "), got ", task.heads, "; plan with the model's number of heads"));
}

// Tasks of one server and document.
void append_group(const Plan& plan, const std::vector<size_t>& tasks, int64_t heads, int64_t ratio,
                  ServerNeeds& needs) {
  std::vector<Read> q_reads;
  std::vector<Read> kv_reads;
  for (const size_t id : tasks) {
    const Task& task = plan.tasks[id];
    const Piece piece = trim(task.piece);
    if (piece.q.empty()) continue;
    const Range q_heads = resolved_heads(task, heads);
    q_reads.push_back({piece.q, q_heads});
    kv_reads.push_back({piece.kv, {q_heads.begin / ratio, (q_heads.end + ratio - 1) / ratio}});
  }
  const int document = plan.tasks[tasks.front()].document;
  append_needs(document, std::move(q_reads), needs.q);
  append_needs(document, std::move(kv_reads), needs.kv);
}

}  // namespace

std::vector<ServerNeeds> needed_rows(const Plan& plan, int64_t heads, int64_t kv_heads) {
  CADENZA_CHECK(heads >= 1 && kv_heads >= 1 && heads % kv_heads == 0, heads, " heads, ", kv_heads,
                " kv heads");
  const auto group_of = [&](size_t id) {
    return std::pair(plan.tasks[id].server, plan.tasks[id].document);
  };
  std::vector<size_t> order(plan.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return group_of(a) < group_of(b); });

  std::vector<ServerNeeds> needs(static_cast<size_t>(plan.servers));
  std::vector<size_t> group;
  for (size_t i = 0; i < order.size(); ++i) {
    group.push_back(order[i]);
    if (i + 1 < order.size() && group_of(order[i]) == group_of(order[i + 1])) continue;
    const Rank server = plan.tasks[order[i]].server;
    CADENZA_CHECK(server >= 0 && server < plan.servers, "server ", server);
    append_group(plan, group, heads, heads / kv_heads, needs[static_cast<size_t>(server)]);
    group.clear();
  }
  return needs;
}

}  // namespace cadenza
