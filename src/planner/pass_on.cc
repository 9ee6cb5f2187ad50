#include "planner/pass_on.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "base/check.h"
#include "planner/last_holders.h"

namespace cadenza {
namespace {

/// Tasks that read rows of one document and home, inside one circle.
auto journey_of(const RingTask& t) {
  return std::tuple(t.keyed.task.document, t.keyed.key_home, t.circle);
}

auto stop_of(const RingTask& t) { return std::tuple(journey_of(t), t.keyed.task.round); }

void append_parts(const Task& task, const LastHolders& holders, std::vector<Task>& tasks) {
  for (const HeldRows& held : holders.of(task.piece.kv)) {
    Task part = task;
    part.piece = trim({task.piece.q, held.rows, task.piece.band});
    part.via = held.holder;
    if (!part.piece.q.empty()) tasks.push_back(part);
  }
}

/// The tasks of one server that read the rows where they stop: all see what earlier rounds left.
void visit(std::span<const RingTask> stop, LastHolders& holders, std::vector<Task>& tasks) {
  const Rank server = stop.front().keyed.task.server;
  for (const RingTask& t : stop) {
    CADENZA_CHECK(t.keyed.task.server == server, "two servers in round ", t.keyed.task.round);
    append_parts(t.keyed.task, holders, tasks);
  }
  if (server == stop.front().keyed.key_home) return;
  for (const RingTask& t : stop) holders.set(t.keyed.task.piece.kv, server);
}

}  // namespace

std::vector<Task> pass_on(std::vector<RingTask> ring) {
  std::stable_sort(ring.begin(), ring.end(),
                   [](const RingTask& a, const RingTask& b) { return stop_of(a) < stop_of(b); });
  std::vector<Task> tasks;
  tasks.reserve(ring.size());
  LastHolders holders;
  for (size_t begin = 0; begin < ring.size();) {
    if (begin == 0 || journey_of(ring[begin]) != journey_of(ring[begin - 1])) holders = {};
    size_t end = begin + 1;
    while (end < ring.size() && stop_of(ring[end]) == stop_of(ring[begin])) ++end;
    visit(std::span(ring).subspan(begin, end - begin), holders, tasks);
    begin = end;
  }
  return tasks;
}

}  // namespace cadenza
