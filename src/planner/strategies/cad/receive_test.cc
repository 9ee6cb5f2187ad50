#include "planner/strategies/cad/receive.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/verify_plan.h"
#include "planner/request_batch.h"
#include "planner/strategies/cad/start.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

double largest_receive(const CadState& state) {
  double most = 0;
  for (Rank s = 0; s < state.servers(); ++s) most = std::max(most, state.use(s).recv);
  return most;
}

TEST(LowerLargestReceive, KeepsToCapsAndBytes) {
  const PairsCostModel pairs;
  int lower = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<int64_t> lengths;
    for (int i = 0; i < 60; ++i) {
      lengths.push_back(uniform_between(rng, 100, i % 6 == 0 ? 40000 : 3000));
    }
    int64_t tokens = 0;
    for (const int64_t length : lengths) tokens += length;
    const PlanRequest request{.documents = documents_of_lengths(lengths),
                              .homes = 16,
                              .tokens_per_rank = tokens / 16 + 1,
                              .cluster = {.servers = 16},
                              .cost = &pairs,
                              .tolerance = 0.02};
    const Batch batch = batch_of_request(request);
    CadState state(request, batch);
    if (!best_start(state, 10000).even) continue;
    const double before = largest_receive(state), bytes = state.bytes();
    lower_largest_receive(state, 0.01);
    EXPECT_GE(state.rooms().least().first, 0);
    EXPECT_LE(state.bytes(), 1.01 * bytes);
    EXPECT_LE(largest_receive(state), before);
    EXPECT_FALSE(state.limits().any());
    EXPECT_NO_THROW(
        verify_plan({.strategy = "cad", .servers = 16, .batch = batch, .tasks = state.tasks()}));
    lower += largest_receive(state) < before;
  }
  EXPECT_GT(lower, 5);
}

}  // namespace
}  // namespace cadenza
