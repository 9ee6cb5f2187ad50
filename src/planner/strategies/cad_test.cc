#include "planner/strategies/cad.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "core/batch_file.h"
#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/strategies/home.h"
#include "planner/tile.h"
#include "testing/batch_folders.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

const PairsCostModel kPairs;
constexpr double kTileCost = kTile * kTile;

PlanRequest request_for(std::vector<Document> documents, int servers, double tolerance) {
  int64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return {.documents = std::move(documents),
          .homes_given = false,
          .homes = servers,
          .tokens_per_rank = tokens / servers + 1,
          .cluster = {.servers = servers, .speeds = {}},
          .shape = {},
          .cost = &kPairs,
          .tolerance = tolerance};
}

/// Exact, cut where allowed, and within the tolerance or one tile of the mean.
void expect_good_plan(const PlanRequest& request) {
  const Plan plan = plan_cad(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_NO_THROW(check_cuts(plan, kTile));
  const double pairs = static_cast<double>(count_pairs(plan.batch));
  double speeds = 0, slowest = std::numeric_limits<double>::infinity();
  for (int s = 0; s < request.cluster.servers; ++s) {
    speeds += request.cluster.speed(s);
    if (request.cluster.speed(s) > 0) slowest = std::min(slowest, request.cluster.speed(s));
  }
  const double lump = pairs > 0 ? kTileCost / slowest / (pairs / speeds) : 0;
  EXPECT_LE(balance_of(plan, request.cluster, kPairs).max_over_mean,
            1 + std::max(request.tolerance, lump) + 1e-9);
  EXPECT_EQ(plan, plan_cad(request)) << "the same request planned twice";
}

class RandomBatches : public testing::TestWithParam<int> {};

TEST_P(RandomBatches, ArePlannedExactlyAndEvenly) {
  const uint64_t seed = 1000 + static_cast<uint64_t>(GetParam());
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << GetParam() << " servers");
  Rng rng(seed);
  for (int i = 0; i < 12; ++i) {
    const int64_t max_length = i % 3 == 0 ? 40 : i % 3 == 1 ? 1500 : 20000;
    const Batch batch = random_batch(
        rng,
        {.ranks = GetParam(), .max_documents = 8, .max_length = max_length, .masks = i % 2 == 1});
    PlanRequest request = request_for(batch.documents, GetParam(), 0.02 * (i % 4));
    request.homes_given = true;
    SCOPED_TRACE(testing::Message() << "batch " << i);
    expect_good_plan(request);
  }
}

INSTANTIATE_TEST_SUITE_P(OnServers, RandomBatches, testing::Range(1, 8));

TEST(Cad, PlansOddLengths) {
  for (const int servers : {1, 2, 3, 4, 7}) {
    const PlanRequest request =
        request_for(documents_of_lengths({16385, 4097, 255, 1, 2, 3}), servers, 0.05);
    const Plan plan = plan_cad(request);
    const std::vector<int64_t> pairs = pairs_per_server(plan);
    EXPECT_EQ(std::accumulate(pairs.begin(), pairs.end(), int64_t{0}), 142669708);
    expect_good_plan(request);
  }
}

TEST(Cad, LeavesServersIdleWhereThereIsNoWork) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{5}, {1}, {3, 1}}) {
    expect_good_plan(request_for(documents_of_lengths(lengths), 8, 0.05));
  }
}

TEST(Cad, UsesServersThatHoldNoTokens) {
  PlanRequest request = request_for(documents_of_lengths({20000, 300}), 2, 0.05);
  request.cluster.servers = 5;
  const Plan plan = plan_cad(request);
  EXPECT_EQ(plan.batch.homes, 2);
  EXPECT_THAT(pairs_per_server(plan), testing::Each(testing::Gt(0)));
  expect_good_plan(request);
}

TEST(Cad, LoadsServersBySpeed) {
  PlanRequest request = request_for(documents_of_lengths({30000, 9000, 9000, 4001, 77}), 4, 0.05);
  request.cluster.speeds = {0.25, 1, 4, 2};
  expect_good_plan(request);
  const std::vector<int64_t> pairs = pairs_per_server(plan_cad(request));
  EXPECT_GT(pairs[2], 10 * pairs[0]);
}

/// balance_of is infinite if a server of speed 0 has work, so an even plan leaves it none.
TEST(Cad, GivesServersOfSpeed0NoWork) {
  Rng rng(21);
  for (int i = 0; i < 60; ++i) {
    const int servers = static_cast<int>(uniform_between(rng, 2, 9));
    const int64_t max_length = i % 3 == 0 ? 40 : i % 3 == 1 ? 1500 : 40000;
    const Batch batch = random_batch(
        rng,
        {.ranks = servers, .max_documents = 12, .max_length = max_length, .masks = i % 2 == 1});
    PlanRequest request = request_for(batch.documents, servers, 0.02 * (i % 4));
    request.homes_given = true;
    for (int s = 0; s < servers; ++s) {
      request.cluster.speeds.push_back(static_cast<double>(uniform_below(rng, 3)) / 2);
    }
    request.cluster.speeds[uniform_below(rng, static_cast<uint64_t>(servers))] = 1;
    SCOPED_TRACE(testing::Message() << "seed 21, batch " << i);
    expect_good_plan(request);
  }
}

TEST(Cad, LaysOutALongDocumentBesideServersOfSpeed0) {
  PlanRequest request = request_for(documents_of_lengths({160000, 8000, 2000, 129}), 8, 0.02);
  request.cluster.speeds = {1, 1, 0, 1, 1, 1, 0, 1};
  expect_good_plan(request);
}

TEST(Cad, PlansOnlyTheQueriesOfANanoBatch) {
  PlanRequest request = request_for(documents_of_lengths({9000, 5000}), 3, 0.05);
  request.documents[0].queries = {4321, 9000};
  request.documents[0].nano_batch = 1;
  request.documents[1].queries = {0, 0};
  for (const Task& task : plan_cad(request).tasks) {
    EXPECT_EQ(task.document, 0);
    EXPECT_TRUE(request.documents[0].queries.contains(task.piece.q));
  }
  expect_good_plan(request);
}

TEST(Cad, MovesNothingWhereHomesAreEven) {
  PlanRequest request = request_for(documents_of_lengths({4096, 4096, 4096}), 3, 0.05);
  request.tokens_per_rank = 4096;
  EXPECT_EQ(forward_traffic(plan_cad(request), request.shape).total(), 0);
}

// The last 100 rows of a document lie on the next server. They would fetch all its keys.
TEST(Cad, ComputesAShortTailWhereItsKeysLive) {
  PlanRequest request = request_for(documents_of_lengths({10100, 9900}), 2, 0.05);
  request.tokens_per_rank = 10000;
  const Plan plan = plan_cad(request);
  ASSERT_NO_THROW(verify_plan(plan));
  const Traffic traffic = forward_traffic(plan, request.shape);
  EXPECT_EQ(traffic.kv_bytes, 0);
  EXPECT_EQ(traffic.q_bytes, 100 * request.shape.q_row_bytes());
}

/// Costs 1000 pairs more for every task: a kernel that is inefficient for small tasks.
class LaunchCost final : public CostModel {
 public:
  const char* name() const override { return "launch"; }
  double task_cost(const Piece& piece) const override {
    const auto pairs = static_cast<double>(count_pairs(piece));
    return pairs > 0 ? pairs + 1000 : 0;
  }
};

TEST(Cad, BalancesByTheCostModel) {
  const LaunchCost cost;
  PlanRequest request = request_for(documents_of_lengths(std::vector<int64_t>(400, 20)), 4, 0.05);
  request.documents.push_back(documents_of_lengths({8000}).front());
  request.tokens_per_rank = 5000;
  request.cost = &cost;
  const Plan plan = plan_cad(request);
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_LE(balance_of(plan, request.cluster, cost).max_over_mean, 1.06);
}

TEST(Cad, RefusesRequestsThatMakeNoSense) {
  PlanRequest request = request_for(documents_of_lengths({10}), 2, 0.05);
  request.cluster.speeds = {0, 0};
  EXPECT_THROW(plan_cad(request), ConfigError);
  request.cluster.speeds = {1, -1};
  EXPECT_THROW(plan_cad(request), ConfigError);
  request.cluster.speeds = {1};
  EXPECT_THROW(plan_cad(request), ConfigError);
  request.cluster.speeds = {};
  request.tolerance = -0.1;
  EXPECT_THROW(plan_cad(request), ConfigError);
  request.tolerance = 0.05;
  request.homes = 3;
  EXPECT_THROW(plan_cad(request), ConfigError);
}

std::vector<std::filesystem::path> batch_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : batch_folders()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().front() == 's') files.push_back(entry.path());
    }
  }
  EXPECT_GE(files.size(), 14u);
  return files;
}

class BenchInputs : public testing::TestWithParam<double> {};

TEST_P(BenchInputs, MeetTheBound) {
  for (const std::filesystem::path& path : batch_files()) {
    SCOPED_TRACE(path.filename().string());
    const BatchFile file = read_batch_file(path);
    PlanRequest request = request_for(file.documents, file.servers.value(), GetParam());
    request.tokens_per_rank = file.tokens_per_server.value();
    const Plan plan = plan_cad(request);
    ASSERT_NO_THROW(verify_plan(plan));
    EXPECT_NO_THROW(check_cuts(plan, kTile));
    EXPECT_LE(balance_of(plan, request.cluster, kPairs).max_over_mean, 1 + GetParam() + 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(AtTolerance, BenchInputs, testing::Values(0.02, 0.05));

TEST(Home, ComputesEveryQueryWhereItLives) {
  Rng rng(7);
  for (int i = 0; i < 20; ++i) {
    const Batch batch = random_batch(rng, {.ranks = 3, .max_length = 300, .masks = true});
    PlanRequest request = request_for(batch.documents, 3, 0.05);
    request.homes_given = true;
    const Plan plan = plan_home(request);
    ASSERT_NO_THROW(verify_plan(plan)) << "seed 7, batch " << i;
    for (const Task& task : plan.tasks) {
      const std::vector<Shard>& shards = batch.documents[static_cast<size_t>(task.document)].shards;
      EXPECT_TRUE(std::any_of(shards.begin(), shards.end(), [&](const Shard& shard) {
        return shard.home == task.server && shard.rows.contains(task.piece.q);
      }));
    }
    EXPECT_EQ(forward_traffic(plan, request.shape).q_bytes, 0);
  }
}

}  // namespace
}  // namespace cadenza
