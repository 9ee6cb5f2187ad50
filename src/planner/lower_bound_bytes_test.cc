#include "planner/lower_bound_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "core/batch_file.h"
#include "core/traffic.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

TEST(LowerBoundBytes, OfOneSurplusAndOneRoom) {
  // Pairs 1000·1001/2 = 500500 on server 0, none on server 1; cap 250250 each: half of them move.
  const Batch batch = fill_sequentially(documents_of_lengths({1000}), 2, 1000);
  const ModelShape shape;
  const double row = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes());
  const double key = static_cast<double>(shape.kv_row_bytes());
  EXPECT_NEAR(lower_bound_bytes(batch, {.servers = 2}, shape, 0).value(),
              2 * std::sqrt(row * key * 250250.0), 1);
  EXPECT_EQ(lower_bound_bytes(batch, {.servers = 2}, shape, 1).value(), 0);
}

TEST(LowerBoundBytes, IsSilentWhereADocumentLivesOnTwoServers) {
  const Batch batch = fill_sequentially(documents_of_lengths({1000}), 2, 500);
  EXPECT_FALSE(lower_bound_bytes(batch, {.servers = 2}, {}, 0).has_value());
}

TEST(LowerBoundBytes, IsBelowEveryPlan) {
  const PairsCostModel cost;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    std::vector<int64_t> lengths;
    const int servers = static_cast<int>(uniform_between(rng, 2, 8));
    for (int i = 0; i < servers; ++i) lengths.push_back(uniform_between(rng, 300, 20000));
    std::vector<Document> documents = documents_of_lengths(lengths);
    for (int i = 0; i < servers; ++i) {
      Document& document = documents[static_cast<size_t>(i)];
      document.shards = {{{0, document.length}, i}};
    }
    const PlanRequest request{.documents = documents,
                              .homes_given = true,
                              .homes = servers,
                              .tokens_per_rank = 20000,
                              .cluster = {.servers = servers},
                              .cost = &cost,
                              .tolerance = 0.1};
    const Plan plan = find_strategy("cad").plan(request);
    const auto bound = lower_bound_bytes(plan.batch, request.cluster, request.shape, 0.1);
    EXPECT_LE(bound.value(),
              static_cast<double>(forward_traffic(plan, request.shape).total()) * (1 + 1e-12))
        << "seed " << seed;
  }
}

TEST(LowerBoundBytes, IsThatOfRecordedBatches) {
  const std::filesystem::path folder = CADENZA_SOURCE_DIR "/../shared/data/planner_bench";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::string targets = (folder / "targets.json").string();
  for (const Json& row : parse_json(read_file(targets), targets).at("rows")) {
    const std::string name = row.at("case").get<std::string>();
    const BatchFile file = read_batch_file((folder / (name + ".json")).string());
    const Batch batch =
        fill_sequentially(file.documents, file.servers.value(), file.tokens_per_server.value());
    const auto bound = lower_bound_bytes(batch, {.servers = file.servers.value()}, {}, 0.02);
    if (!bound) continue;
    // There, the larger of this bound and one that also holds for documents on several servers.
    EXPECT_LE(*bound / (1 << 30), row.at("lower_bound_gib").get<double>() * 1.001) << name;
    EXPECT_GE(*bound / (1 << 30), row.at("lower_bound_gib").get<double>() * 0.95) << name;
  }
}

}  // namespace
}  // namespace cadenza
