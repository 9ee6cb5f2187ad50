#include "planner/strategies/cad/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/merge_tasks.h"
#include "planner/request_batch.h"
#include "planner/strategies/cad/long.h"
#include "planner/strategies/cad/perturb.h"
#include "planner/strategies/cad/repair.h"
#include "planner/tile.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

const PairsCostModel kPairs;

PlanRequest request_for(std::vector<Document> documents, int servers) {
  int64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return {.documents = std::move(documents),
          .homes_given = false,
          .homes = servers,
          .tokens_per_rank = tokens / servers + 1,
          .cluster = {.servers = servers},
          .cost = &kPairs,
          .tolerance = 0.05};
}

Plan plan_of(const PlanRequest& request, const Batch& batch, std::vector<Task> tasks) {
  return {.strategy = "cad",
          .servers = request.cluster.servers,
          .batch = batch,
          .tasks = merge_tasks(std::move(tasks))};
}

/// Long-tailed lengths: one document over several servers, some of half a server, many short ones.
PlanRequest long_tailed(Rng& rng, bool masks) {
  std::vector<Document> documents =
      documents_of_lengths({uniform_between(rng, 30000, 60000), uniform_between(rng, 4000, 9000),
                            uniform_between(rng, 4000, 9000), uniform_between(rng, 1, 3000), 1, 129,
                            uniform_between(rng, 1, 3000)});
  if (masks) {
    documents[1].mask = {.kind = Mask::Kind::kWindow, .window = 2000, .sinks = 4};
    documents[2].mask = {.kind = Mask::Kind::kFull};
    documents[3].mask = {.kind = Mask::Kind::kPrefix, .prefix = 500};
  }
  return request_for(std::move(documents), static_cast<int>(uniform_between(rng, 3, 9)));
}

TEST(CadSearch, FindsPlansThatAreExactEvenAndNeverMoveMore) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const PlanRequest request = long_tailed(rng, seed % 2 == 0);
    const Batch batch = batch_of_request(request);
    CadState state(request, batch);
    MoveFinder finder(state);
    spread_long_documents(state, 0, rng);
    if (!bring_under_caps(state, finder)) continue;
    const auto before =
        forward_traffic(plan_of(request, batch, state.tasks()), request.shape).total();
    const std::vector<Task> found = search(state, {.work = 30000, .seed = seed});
    const Plan plan = plan_of(request, batch, found);
    ASSERT_NO_THROW(verify_plan(plan));
    EXPECT_NO_THROW(check_cuts(plan, kTile));
    EXPECT_LE(balance_of(plan, request.cluster, kPairs).max_over_mean, 1.05 + 1e-9);
    const auto after = forward_traffic(plan, request.shape).total();
    EXPECT_LE(after, before);
    better += after < before ? 1 : 0;

    CadState again(request, batch);
    MoveFinder finder_again(again);
    spread_long_documents(again, 0, rng);
    bring_under_caps(again, finder_again);
    EXPECT_TRUE(search(again, {.work = 30000, .seed = seed}) == found) << "the same search twice";
  }
  EXPECT_GE(better, 3) << "a search that finds nothing";
}

// The state counts bytes as it changes; the plan's traffic is counted from nothing.
TEST(CadSearch, CountsBytesThroughChangesAndUndoing) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const PlanRequest request = long_tailed(rng, seed % 2 == 0);
    const Batch batch = batch_of_request(request);
    CadState state(request, batch);
    CadPerturbation perturb(state, rng);
    int changed = 0;
    for (int i = 0; i < 200; ++i) {
      const size_t mark = state.mark();
      changed += perturb.change() ? 1 : 0;
      if (i % 3 == 0) state.undo(mark);
      state.forget();
      if (i % 20 != 0) continue;
      const Plan plan = plan_of(request, batch, state.tasks());
      ASSERT_NO_THROW(verify_plan(plan));
      const auto bytes = static_cast<double>(forward_traffic(plan, request.shape).total());
      EXPECT_NEAR(state.bytes(), bytes, 1e-6 * bytes + 1);
    }
    EXPECT_GT(changed, 50);
  }
}

TEST(CadSearch, KeepsWholePrefixesOfKeysWhereKeysMayNotBeSplit) {
  Rng rng(3);
  PlanRequest request = long_tailed(rng, false);
  request.options.split_kv = false;
  const Batch batch = batch_of_request(request);
  CadState state(request, batch);
  CadPerturbation perturb(state, rng);
  for (int i = 0; i < 300; ++i) {
    perturb.change();
    state.forget();
  }
  for (const Task& task : state.tasks()) {
    EXPECT_EQ(task.piece.kv.begin, 0);
    EXPECT_EQ(task.piece.kv.end, task.piece.q.end);
  }
}

}  // namespace
}  // namespace cadenza
