#include "planner/lower_bound_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "core/batch_file.h"
#include "core/traffic.h"
#include "planner/balance.h"
#include "planner/strategy.h"
#include "testing/batch_folders.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

TEST(LowerBoundBytes, OfOneSurplusAndOneRoom) {
  // Pairs 1000·1001/2 = 500500 on server 0, none on server 1; cap 250250 each: half of them move.
  const Batch batch = fill_sequentially(documents_of_lengths({1000}), 2, 1000);
  const ModelShape shape;
  const double row = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes());
  const double key = static_cast<double>(shape.kv_row_bytes());
  EXPECT_NEAR(lower_bound_bytes(batch, {.servers = 2}, shape, 0),
              2 * std::sqrt(row * key * 250250.0), 1);
  EXPECT_EQ(lower_bound_bytes(batch, {.servers = 2}, shape, 1), 0);
}

// One document on two servers. Server 1 has 375,250 of 500,500 pairs, 250,000 of them with keys of
// server 0, so that at least 125,000 pairs move: some rows of server 1 to server 0 with its keys.
TEST(LowerBoundBytes, OfADocumentOnTwoServers) {
  const Batch batch = fill_sequentially(documents_of_lengths({1000}), 2, 500);
  const ModelShape shape;
  const double bound = lower_bound_bytes(batch, {.servers = 2}, shape, 0);
  EXPECT_GT(bound, 0);
  PlanRequest request{.documents = documents_of_lengths({1000}),
                      .homes = 2,
                      .tokens_per_rank = 500,
                      .cluster = {.servers = 2},
                      .tolerance = 0};
  const PairsCostModel cost;
  request.cost = &cost;
  const Plan plan = find_strategy("cad").plan(request);
  EXPECT_LE(bound, static_cast<double>(forward_traffic(plan, shape).total()));
}

TEST(LowerBoundBytes, IsBelowEveryPlanOfDocumentsOnSeveralServers) {
  const PairsCostModel cost;
  int above_zero = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const int servers = static_cast<int>(uniform_between(rng, 2, 9));
    const Batch batch = random_batch(rng, {.ranks = servers,
                                           .max_documents = 10,
                                           .max_length = seed % 2 == 0 ? 30000 : 4000,
                                           .masks = seed % 3 == 0});
    const PlanRequest request{.documents = batch.documents,
                              .homes_given = true,
                              .homes = servers,
                              .cluster = {.servers = servers},
                              .cost = &cost,
                              .tolerance = 0.05};
    for (const char* strategy : {"cad", "home", "sap"}) {
      const Plan plan = find_strategy(strategy).plan(request);
      const double even = balance_of(plan, request.cluster, cost).max_over_mean - 1;
      const double bound =
          lower_bound_bytes(plan.batch, request.cluster, request.shape, std::max(0.0, even));
      EXPECT_LE(bound, static_cast<double>(forward_traffic(plan, request.shape).total()) + 1)
          << strategy << ", seed " << seed;
      above_zero += bound > 0;
    }
  }
  EXPECT_GT(above_zero, 60);
}

/// Whole documents on servers, such that each has more or less than its share of the pairs.
Batch one_document_per_server(Rng& rng, int servers) {
  std::vector<int64_t> lengths;
  for (int i = 0; i < servers; ++i) lengths.push_back(uniform_between(rng, 300, 20000));
  std::vector<Document> documents = documents_of_lengths(lengths);
  for (int i = 0; i < servers; ++i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.shards = {{{0, document.length}, i}};
  }
  return {.homes = servers, .documents = std::move(documents)};
}

TEST(LowerBoundBytes, IsBelowEveryPlan) {
  const PairsCostModel cost;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const int servers = static_cast<int>(uniform_between(rng, 2, 8));
    const PlanRequest request{.documents = one_document_per_server(rng, servers).documents,
                              .homes_given = true,
                              .homes = servers,
                              .tokens_per_rank = 20000,
                              .cluster = {.servers = servers},
                              .cost = &cost,
                              .tolerance = 0.1};
    const Plan plan = find_strategy("cad").plan(request);
    const auto bound = lower_bound_bytes(plan.batch, request.cluster, request.shape, 0.1);
    EXPECT_LE(bound,
              static_cast<double>(forward_traffic(plan, request.shape).total()) * (1 + 1e-12))
        << "seed " << seed;
  }
}

/// The cheapest of all ways to fill rooms one after another from surpluses one after another.
double cheapest_order(std::vector<double> surplus, std::vector<double> room, double unit) {
  double cheapest = std::numeric_limits<double>::infinity();
  std::sort(surplus.begin(), surplus.end());
  do {
    std::sort(room.begin(), room.end());
    do {
      std::vector<double> left = surplus, free = room;
      double cost = 0;
      for (size_t i = 0, j = 0; i < left.size() && j < free.size();) {
        const double flow = std::min(left[i], free[j]);
        cost += flow * unit / std::sqrt(std::min(surplus[i], room[j]));
        left[i] -= flow;
        free[j] -= flow;
        left[i] <= 0 ? ++i : ++j;
      }
      cheapest = std::min(cheapest, cost);
    } while (std::next_permutation(room.begin(), room.end()));
  } while (std::next_permutation(surplus.begin(), surplus.end()));
  return cheapest;
}

TEST(LowerBoundBytes, IsTheCheapestOfAllOrdersOfTransport) {
  const ModelShape shape;
  const auto row_bytes = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes());
  const double unit = 2 * std::sqrt(row_bytes * static_cast<double>(shape.kv_row_bytes()));
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    const int servers = static_cast<int>(uniform_between(rng, 2, 7));
    const Batch batch = one_document_per_server(rng, servers);
    double mean = 0;
    for (const Document& d : batch.documents)
      mean += static_cast<double>(d.length) * static_cast<double>(d.length + 1) / 2 / servers;
    std::vector<double> surplus, room;
    for (const Document& d : batch.documents) {
      const double over =
          static_cast<double>(d.length) * static_cast<double>(d.length + 1) / 2 - 1.1 * mean;
      (over > 0 ? surplus : room).push_back(std::abs(over));
    }
    const double wanted = cheapest_order(surplus, room, unit);
    EXPECT_NEAR(lower_bound_bytes(batch, {.servers = servers}, shape, 0.1), wanted, 1e-9 * wanted)
        << "seed " << seed;
  }
}

TEST(LowerBoundBytes, IsCloseToWhatCadMoves) {
  const PairsCostModel cost;
  for (const char* name : {"s8_packed_128k_1", "s8_packed_128k_2", "s64_packed_128k_1"}) {
    const BatchFile file =
        read_batch_file(cat(CADENZA_SOURCE_DIR "/tests/data/batches/", name, ".json"));
    const PlanRequest request{.documents = file.documents,
                              .homes = file.servers.value(),
                              .tokens_per_rank = file.tokens_per_server.value(),
                              .cluster = {.servers = file.servers.value()},
                              .cost = &cost,
                              .tolerance = 0.02};
    const Plan plan = find_strategy("cad").plan(request);
    const double bytes = static_cast<double>(forward_traffic(plan, request.shape).total());
    const double bound = lower_bound_bytes(plan.batch, request.cluster, {}, 0.02);
    EXPECT_LE(bound, bytes) << name;
    EXPECT_GE(bound, 0.8 * bytes) << name;
  }
}

/// Compared with figures that lie beside recorded batches, if there are any beside the repository.
TEST(LowerBoundBytes, IsNearThatOfRecordedBatches) {
  const std::filesystem::path folder = batch_folders().back();
  const std::string targets = (folder / "targets.json").string();
  if (!std::filesystem::exists(targets)) return;
  for (const Json& row : parse_json(read_file(targets), targets).at("rows")) {
    const std::string name = row.at("case").get<std::string>();
    const BatchFile file = read_batch_file((folder / (name + ".json")).string());
    const Batch batch =
        fill_sequentially(file.documents, file.servers.value(), file.tokens_per_server.value());
    const double gib =
        lower_bound_bytes(batch, {.servers = file.servers.value()}, {}, 0.02) / (1 << 30);
    EXPECT_LE(gib, row.at("lower_bound_gib").get<double>() * 1.01) << name;
    EXPECT_GE(gib, row.at("lower_bound_gib").get<double>() * 0.95) << name;
  }
}

}  // namespace
}  // namespace cadenza
