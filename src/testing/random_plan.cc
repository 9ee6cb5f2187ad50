#include "testing/random_plan.h"

#include "base/error.h"
#include "core/arrivals.h"

namespace cadenza {
namespace {

Rank any_server(Rng& rng, int servers) {
  return static_cast<Rank>(uniform_below(rng, static_cast<uint64_t>(servers)));
}

void append_tasks(Rng& rng, int document, const Piece& part, int servers, int64_t heads,
                  std::vector<Task>& tasks) {
  if (count_pairs(part) == 0) return;
  const int64_t head = uniform_between(rng, 0, heads);
  for (const Range of_heads : {Range{0, head}, Range{head, heads}}) {
    if (of_heads.empty()) continue;
    tasks.push_back({.document = document,
                     .piece = part,
                     .heads = of_heads,
                     .server = any_server(rng, servers)});
  }
}

bool is_legal(const Plan& plan, int64_t heads) {
  try {
    arrivals_of(plan, heads, heads);
    return true;
  } catch (const PlanError&) {
    return false;
  }
}

}  // namespace

Plan random_plan(Rng& rng, const Batch& batch, int servers, int64_t heads) {
  Plan plan{.strategy = "random", .servers = servers, .batch = batch, .tasks = {}};
  for (size_t document = 0; document < batch.documents.size(); ++document) {
    for (const Piece& piece :
         mask_pieces(batch.documents[document].mask, batch.documents[document].length)) {
      const int64_t q = uniform_between(rng, piece.q.begin, piece.q.end);
      const int64_t kv = uniform_between(rng, piece.kv.begin, piece.kv.end);
      for (const Range rows : {Range{piece.q.begin, q}, Range{q, piece.q.end}}) {
        for (const Range keys : {Range{piece.kv.begin, kv}, Range{kv, piece.kv.end}}) {
          append_tasks(rng, static_cast<int>(document), {rows, keys, piece.band}, servers, heads,
                       plan.tasks);
        }
      }
    }
  }
  return plan;
}

Plan with_random_rounds(Rng& rng, Plan plan) {
  for (Task& task : plan.tasks) task.round = static_cast<int>(uniform_below(rng, 4));
  const int64_t heads = named_heads(plan);
  for (Task& task : plan.tasks) {
    if (task.round == 0) continue;
    task.via = any_server(rng, plan.servers);
    if (task.via == task.server || !is_legal(plan, heads)) task.via = Task::kHome;
  }
  return plan;
}

}  // namespace cadenza
