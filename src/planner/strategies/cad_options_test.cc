#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/check_cuts.h"
#include "planner/strategies/cad.h"
#include "planner/tile.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

const PairsCostModel kPairs;

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
          .tolerance = tolerance,
          .options = {}};
}

/// Two long documents over several servers each, and some short ones.
PlanRequest long_request() {
  return request_for(
      documents_of_lengths({40000, 3000, 901, 28005, 5000, 4000, 12000, 700, 60, 2334}), 8, 0.02);
}

struct Received {
  int64_t all = 0, keys = 0;  // most of any server
};

Received received(const Plan& plan, const ModelShape& shape) {
  ModelShape keys_only = shape;  // so that Q rows weigh nothing beside K and V is not expressible
  Received most;
  const Traffic traffic = forward_traffic(plan, shape);
  most.all = traffic.max_recv_bytes;
  // Twice the query heads: what a server receives grows by its Q bytes.
  keys_only.heads *= 2;
  const Traffic wider = forward_traffic(plan, keys_only);
  for (size_t s = 0; s < traffic.recv_bytes_per_server.size(); ++s) {
    const int64_t q = wider.recv_bytes_per_server[s] - traffic.recv_bytes_per_server[s];
    most.keys = std::max(most.keys, traffic.recv_bytes_per_server[s] - q);
  }
  return most;
}

void expect_exact(const Plan& plan, const PlanRequest& request) {
  ASSERT_NO_THROW(verify_plan(plan));
  EXPECT_NO_THROW(check_cuts(plan, kTile));
  EXPECT_LE(balance_of(plan, request.cluster, *request.cost).max_over_mean,
            1 + request.tolerance + 1e-9);
}

/// The number that a refusal names after "expected OPTION >= ".
int64_t named_limit(const PlanRequest& request, const std::string& option) {
  try {
    plan_cad(request);
  } catch (const PlanError& error) {
    const std::string text = error.what();
    std::smatch match;
    if (std::regex_search(text, match, std::regex(option + " >= ([0-9]+)"))) {
      return std::stoll(match[1]);
    }
    ADD_FAILURE() << text;
  }
  return -1;
}

TEST(CadLimits, HoldWhereTheyCanBeKept) {
  PlanRequest request = request_for(
      documents_of_lengths({16000, 16000, 4000, 4000, 4000, 4000,  8000, 8000, 2000, 2000, 2000,
                            2000,  2000,  2000, 2000, 2000, 12000, 1000, 1000, 1000, 1000}),
      6, 0.1);
  const Received free = received(plan_cad(request), request.shape);
  for (const double part : {0.95, 0.85}) {
    SCOPED_TRACE(part);
    request.options = {};
    request.options.max_recv_bytes = static_cast<int64_t>(part * static_cast<double>(free.all));
    const Plan plan = plan_cad(request);
    EXPECT_LE(received(plan, request.shape).all, *request.options.max_recv_bytes);
    expect_exact(plan, request);
    request.options = {};
    request.options.max_extra_kv_bytes =
        static_cast<int64_t>(part * static_cast<double>(free.keys));
    const Plan other = plan_cad(request);
    EXPECT_LE(received(other, request.shape).keys, *request.options.max_extra_kv_bytes);
    expect_exact(other, request);
  }
}

TEST(CadLimits, RefusalNamesTheSmallestThatWouldDo) {
  const PlanRequest plain = long_request();
  const auto check = [&](std::optional<int64_t> PlanOptions::*option, const char* name,
                         int64_t Received::*measured) {
    PlanRequest request = plain;
    request.options.*option = 1;
    const int64_t smallest = named_limit(request, name);
    ASSERT_GT(smallest, 1);
    request.options.*option = smallest;
    const Plan plan = plan_cad(request);
    EXPECT_LE(received(plan, request.shape).*measured, smallest);
    expect_exact(plan, request);
    request.options.*option = smallest - 1;
    EXPECT_THROW(plan_cad(request), PlanError);
  };
  check(&PlanOptions::max_recv_bytes, "max_recv_bytes", &Received::all);
  check(&PlanOptions::max_extra_kv_bytes, "max_extra_kv_bytes", &Received::keys);
}

TEST(CadLimits, BothMayBindAtOnce) {
  PlanRequest request = long_request();
  request.options.max_recv_bytes = 1;
  request.options.max_extra_kv_bytes = 1;
  const int64_t recv = named_limit(request, "max_recv_bytes");
  const int64_t keys = named_limit(request, "max_extra_kv_bytes");
  request.options.max_recv_bytes = recv;
  request.options.max_extra_kv_bytes = keys;
  const Plan plan = plan_cad(request);
  EXPECT_LE(received(plan, request.shape).all, recv);
  EXPECT_LE(received(plan, request.shape).keys, keys);
  expect_exact(plan, request);
}

TEST(CadLimits, OnRandomBatchesAreKeptOrRefused) {
  Rng rng(5);
  int kept = 0, refused = 0;
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(testing::Message() << "seed 5, batch " << i);
    const int servers = 2 + i % 5;
    const Batch batch = random_batch(
        rng, {.ranks = servers, .max_documents = 5, .max_length = 9000, .masks = i % 2 == 1});
    PlanRequest request = request_for(batch.documents, servers, 0.05);
    request.homes_given = true;
    request.options.split_kv = i % 3 != 0;
    const Received free = received(plan_cad(request), request.shape);
    const auto part = 50 + static_cast<int64_t>(uniform_below(rng, 60));
    request.options.max_recv_bytes = free.all * part / 100;
    if (i % 4 == 0) request.options.max_extra_kv_bytes = free.keys * part / 100;
    try {
      const Plan plan = plan_cad(request);
      ASSERT_NO_THROW(verify_plan(plan));
      EXPECT_LE(received(plan, request.shape).all, *request.options.max_recv_bytes);
      ++kept;
    } catch (const PlanError&) {
      ++refused;
    }
  }
  EXPECT_GT(kept, 3);
  EXPECT_GT(refused, 3);
}

TEST(CadSplitKv, OffGivesWholePrefixesOnly) {
  Rng rng(6);
  for (int i = 0; i < 12; ++i) {
    const Batch batch = random_batch(rng, {.ranks = 4, .max_documents = 5, .max_length = 20000});
    PlanRequest request = request_for(batch.documents, 4, 0.05);
    request.homes_given = true;
    request.options.split_kv = false;
    const Plan plan = plan_cad(request);
    ASSERT_NO_THROW(verify_plan(plan)) << "seed 6, batch " << i;
    EXPECT_NO_THROW(check_cuts(plan, kTile));
    for (const Task& task : plan.tasks) {  // causal: all keys up to the last query
      EXPECT_EQ(task.piece.kv, (Range{0, task.piece.q.end}));
    }
  }
}

TEST(CadSplitKv, OffMovesMore) {
  PlanRequest request = long_request();
  const int64_t split = forward_traffic(plan_cad(request), request.shape).total();
  request.options.split_kv = false;
  const Plan plan = plan_cad(request);
  expect_exact(plan, request);
  EXPECT_GT(forward_traffic(plan, request.shape).total(), split);
}

/// Of both efforts: exact, and how even and how much.
struct Searched {
  double quick_max = 0, max = 0;
  int64_t quick_bytes = 0, bytes = 0;
};

Searched searched(PlanRequest request) {
  const Plan quick = plan_cad(request);
  request.options.effort = Effort::kThorough;
  const Plan plan = plan_cad(request);
  EXPECT_NO_THROW(verify_plan(plan));
  EXPECT_NO_THROW(check_cuts(plan, kTile));
  EXPECT_EQ(plan, plan_cad(request)) << "the same request planned twice";
  const auto max_of = [&](const Plan& p) {
    return balance_of(p, request.cluster, *request.cost).max_over_mean;
  };
  return {max_of(quick), max_of(plan), forward_traffic(quick, request.shape).total(),
          forward_traffic(plan, request.shape).total()};
}

TEST(CadThorough, MovesLessThanQuickAndKeepsToTheTolerance) {
  const Searched found = searched(request_for(
      documents_of_lengths({40000, 3000, 901, 28005, 5000, 4000, 12000, 700, 60, 2334}), 4, 0.02));
  EXPECT_LE(found.max, 1.02);
  EXPECT_LT(found.bytes, found.quick_bytes);
}

// One tile is more than the tolerance of a server's share: no plan is even, and the search begins
// above the caps.
TEST(CadThorough, SearchesWhereATileIsTooCoarseForTheCaps) {
  const Searched found = searched(
      request_for(documents_of_lengths({2000, 700, 300, 500, 900, 129, 40, 1000}), 3, 0.001));
  EXPECT_GT(found.quick_max, 1.001);
  EXPECT_LE(found.max, found.quick_max + 1e-8);
  EXPECT_LT(found.bytes, found.quick_bytes);
}

/// Q + K + V bytes that servers receive from other nodes: what they receive where each node is one
/// rank.
int64_t far_bytes(const Plan& plan, const Cluster& cluster, const ModelShape& shape) {
  Plan nodes = plan;
  for (Document& document : nodes.batch.documents) {
    for (Shard& shard : document.shards)
      shard.home = cluster.node_of(shard.home) * cluster.servers_per_node;
  }
  int64_t bytes = 0;
  for (Rank s = 0; s < plan.servers; ++s) {
    Plan one = nodes;  // tasks of one server, as if its node's first rank did them
    one.tasks.clear();
    for (Task task : plan.tasks) {
      if (task.server != s) continue;
      task.server = cluster.node_of(s) * cluster.servers_per_node;
      one.tasks.push_back(task);
    }
    const Traffic traffic = forward_traffic(one, shape);
    bytes += traffic.total();
  }
  return bytes;
}

TEST(CadFarLinks, WeightMovesBytesInsideNodes) {
  PlanRequest request = request_for(
      documents_of_lengths({16000, 4000, 4000, 4000,  4000, 12000, 2000, 6000, 16000, 1000,
                            1000,  1000, 1000, 16000, 4000, 4000,  3000, 5000, 8000,  16000}),
      8, 0.05);
  request.cluster.servers_per_node = 4;
  const Plan even = plan_cad(request);
  request.options.far_link_weight = 8;
  const Plan weighted = plan_cad(request);
  expect_exact(weighted, request);
  EXPECT_LT(far_bytes(weighted, request.cluster, request.shape),
            far_bytes(even, request.cluster, request.shape));
}

TEST(CadPlacement, FreeMovesNoMoreThanFill) {
  Rng rng(8);
  for (int i = 0; i < 6; ++i) {
    const Batch batch = random_batch(rng, {.ranks = 4, .max_documents = 8, .max_length = 9000});
    PlanRequest request = request_for(batch.documents, 4, 0.05);
    const int64_t fill = forward_traffic(plan_cad(request), request.shape).total();
    request.options.placement = Placement::kFree;
    const Plan plan = plan_cad(request);
    expect_exact(plan, request);
    EXPECT_LE(forward_traffic(plan, request.shape).total(), fill) << "seed 8, batch " << i;
    for (Rank rank = 0; rank < 4; ++rank) {
      EXPECT_LE(local_rows(plan.batch, rank), request.tokens_per_rank);
    }
  }
}

TEST(CadPlacement, FreeFindsHomesThatMoveNothing) {
  PlanRequest request =
      request_for(documents_of_lengths({8000, 8000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000,
                                        1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}),
                  2, 0.05);
  request.tokens_per_rank = 16000;
  EXPECT_GT(forward_traffic(plan_cad(request), request.shape).total(), 0);
  request.options.placement = Placement::kFree;
  EXPECT_EQ(forward_traffic(plan_cad(request), request.shape).total(), 0);
}

TEST(CadPlacement, FreeRefusesGivenHomes) {
  PlanRequest request = long_request();
  request.documents = fill_sequentially(request.documents, 8, request.tokens_per_rank).documents;
  request.homes_given = true;
  request.options.placement = Placement::kFree;
  EXPECT_THROW(plan_cad(request), NotApplicable);
}

}  // namespace
}  // namespace cadenza
