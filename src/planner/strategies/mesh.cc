// Construction: server i has the queries of chunks i / a · a + t, t < a, and the keys of chunks
// i mod a + s · a, s < b. These tiles partition the n × n pairs, and (i, i) is in tile i. Turned
// round: the pair of query chunk q and key chunk k is computed by server q / a · a + k mod a.
#include "planner/strategies/mesh.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "core/traffic.h"
#include "planner/home_tasks.h"
#include "planner/key_homes.h"
#include "planner/place_zigzag.h"
#include "planner/placing_strategy.h"
#include "planner/strategies/mesh_rounds.h"

namespace cadenza {
namespace {

/// All shapes for n chunks, fewest chunks of queries first.
std::vector<MeshShape> shapes_for(int n) {
  std::vector<MeshShape> shapes;
  for (int a = 1; a <= n; ++a) {
    if (n % a == 0) shapes.push_back({.q_chunks = a, .kv_chunks = n / a});
  }
  return shapes;
}

void check_shape(MeshShape shape, int n) {
  if (shape.q_chunks >= 1 && shape.kv_chunks >= 1 && n % shape.q_chunks == 0 &&
      n / shape.q_chunks == shape.kv_chunks)
    return;
  const std::vector<MeshShape> shapes = shapes_for(n);
  const auto distance = [&](MeshShape s) { return std::abs(s.q_chunks - shape.q_chunks); };
  const MeshShape legal =
      *std::min_element(shapes.begin(), shapes.end(),
                        [&](MeshShape a, MeshShape b) { return distance(a) < distance(b); });
  throw NotApplicable(cat("[mesh] expected q chunks x kv chunks = ", n,
                          ", the ranks that hold tokens, got ", shape.q_chunks, " x ",
                          shape.kv_chunks, "; nearest: ", legal.q_chunks, " x ", legal.kv_chunks));
}

std::vector<Task> tasks_on_mesh(const std::vector<KeyedTask>& pairs, int n, MeshShape shape) {
  const int a = shape.q_chunks;
  const int b = shape.kv_chunks;
  const MeshRounds rounds(shape);
  std::vector<Task> tasks;
  tasks.reserve(pairs.size());
  for (const KeyedTask& pair : pairs) {
    const Rank q = pair.task.server;
    const Rank k = pair.key_home;
    Task task = pair.task;
    task.server = q / a * a + k % a;
    const int q_hops = (task.server - q + a) % a;
    const int kv_hops = (task.server - k + n) % n / a;
    CADENZA_CHECK(kv_hops < b, "server ", task.server, ", keys of ", k);
    task.round =
        std::max(rounds.q[static_cast<size_t>(q_hops)], rounds.kv[static_cast<size_t>(kv_hops)]);
    tasks.push_back(task);
  }
  return tasks;
}

/// Puts the tasks of the shape that moves fewest bytes into the plan.
void choose_shape(const std::vector<KeyedTask>& pairs, const ModelShape& model, Plan& plan) {
  std::vector<Task> best;
  int64_t fewest = -1;
  for (const MeshShape shape : shapes_for(plan.batch.homes)) {
    plan.tasks = tasks_on_mesh(pairs, plan.batch.homes, shape);
    const int64_t bytes = forward_traffic(plan, model).total();
    if (fewest >= 0 && bytes >= fewest) continue;
    fewest = bytes;
    best = std::move(plan.tasks);
  }
  plan.tasks = std::move(best);
}

}  // namespace

Plan plan_mesh(const PlanRequest& request) {
  Plan plan{.strategy = "mesh",
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, "mesh"),
            .tasks = {}};
  const auto& shape = request.options.mesh;
  if (shape) check_shape(*shape, plan.batch.homes);
  check_even_capacity(plan.batch, request, "mesh");
  place_zigzag(plan.batch);
  const std::vector<KeyedTask> pairs = cut_at_key_homes(plan.batch, home_tasks(plan.batch));
  if (shape) {
    plan.tasks = tasks_on_mesh(pairs, plan.batch.homes, *shape);
  } else {
    choose_shape(pairs, request.shape, plan);
  }
  return plan;
}

}  // namespace cadenza
