#include <gtest/gtest.h>

#include <cmath>

#include "core/cost/profile_cost_model.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/strategies/cad.h"
#include "planner/tile.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

double uniform(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }

/// A kernel that starts slowly and is inefficient for few rows or few keys, measured with noise.
AttentionGrid random_grid(Rng& rng) {
  std::vector<int64_t> q_rows, kv_rows;
  for (int64_t q = 16; q <= 4096; q *= 4) q_rows.push_back(q);
  for (int64_t kv = 64; kv <= 16384; kv *= 4) kv_rows.push_back(kv);
  const double start = 2e4 * uniform(rng), rows = 200 * uniform(rng), keys = 500 * uniform(rng);
  const double noise = 0.3 * uniform(rng);
  std::vector<std::vector<double>> seconds;
  for (const int64_t q : q_rows) {
    std::vector<double>& row = seconds.emplace_back();
    for (const int64_t kv : kv_rows) {
      const double pairs = (static_cast<double>(q) + rows) * (static_cast<double>(kv) + keys);
      row.push_back(1e-9 * (start + pairs) * std::exp(noise * (2 * uniform(rng) - 1)));
    }
  }
  return {q_rows, kv_rows, seconds};
}

Profile random_profile(Rng& rng) {
  return {.kernel = "random",
          .shape = {},
          .forward = random_grid(rng),
          .backward = random_grid(rng),
          .error = {}};
}

/// The largest part of a server's share that a tile is here: caps cannot be kept nearer than that.
constexpr double kSmallTile = 0.002;

// A cut changes what its parts cost together.
TEST(CadByProfile, KeepsEveryServerUnderItsCap) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const ProfileCostModel cost(random_profile(rng));
    const int servers = static_cast<int>(uniform_between(rng, 2, 9));
    const Batch batch = random_batch(rng, {.ranks = servers,
                                           .max_documents = seed % 3 == 0 ? 60 : 12,
                                           .max_length = seed % 3 == 0 ? 20000 : 60000,
                                           .masks = seed % 2 == 0});
    PlanRequest request{.documents = batch.documents,
                        .homes_given = true,
                        .homes = servers,
                        .cluster = {.servers = servers, .speeds = {}},
                        .cost = &cost,
                        .tolerance = seed % 4 == 0 ? 0.01 : 0.02};
    const Plan plan = plan_cad(request);
    ASSERT_NO_THROW(verify_plan(plan));
    EXPECT_NO_THROW(check_cuts(plan, kTile));
    double total = 0;
    for (const Task& task : plan.tasks) total += cost.task_cost(task.piece);
    const double tile = cost.task_cost({{0, kTile}, {0, kTile}, Band::full()});
    if (tile > kSmallTile * total / servers) continue;
    EXPECT_LE(balance_of(plan, request.cluster, cost).max_over_mean, 1 + request.tolerance);
    ++checked;
  }
  EXPECT_GT(checked, 60);
}

}  // namespace
}  // namespace cadenza
