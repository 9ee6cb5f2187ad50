#include "planner/merge_tasks.h"

#include <algorithm>
#include <tuple>

namespace cadenza {
namespace {

auto by_server(const Task& t) {
  return std::tuple(t.server, t.document, t.piece.band.lowest, t.piece.band.highest,
                    t.piece.q.begin, t.piece.kv.begin);
}

auto by_place(const Task& t) {
  return std::tuple(t.document, t.piece.q.begin, t.piece.kv.begin, t.server);
}

/// Tasks are disjoint, so the box around two holds exactly their pairs if it holds as many.
bool join(Task& a, const Task& b) {
  if (a.server != b.server || a.document != b.document || a.piece.band != b.piece.band)
    return false;
  const Piece& p = a.piece;
  const Piece& r = b.piece;
  const Piece box{{std::min(p.q.begin, r.q.begin), std::max(p.q.end, r.q.end)},
                  {std::min(p.kv.begin, r.kv.begin), std::max(p.kv.end, r.kv.end)},
                  p.band};
  if (count_pairs(box) != count_pairs(p) + count_pairs(r)) return false;
  a.piece = box;
  return true;
}

}  // namespace

std::vector<Task> merge_tasks(std::vector<Task> tasks) {
  std::sort(tasks.begin(), tasks.end(),
            [](const Task& a, const Task& b) { return by_server(a) < by_server(b); });
  std::vector<Task> merged;
  for (const Task& task : tasks) {
    if (merged.empty() || !join(merged.back(), task)) merged.push_back(task);
  }
  std::sort(merged.begin(), merged.end(),
            [](const Task& a, const Task& b) { return by_place(a) < by_place(b); });
  return merged;
}

}  // namespace cadenza
