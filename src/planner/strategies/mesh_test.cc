#include "planner/strategies/mesh.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/placement_request_test.h"
#include "planner/random_request_test.h"
#include "planner/strategies/mesh_rounds.h"
#include "planner/strategies/ring.h"

namespace cadenza {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const PairsCostModel kPairs;
constexpr int64_t kLength = 24 * 10;

PlanRequest one_document(int servers, Mask::Kind kind) {
  PlanRequest request = request_to_place({kLength}, servers, kLength, kPairs);
  request.documents[0].mask.kind = kind;
  return request;
}

TEST(Mesh, OfOneByNIsRing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    PlanRequest request = random_request(rng, static_cast<MaskShape>(seed % 7), kPairs);
    request.options.capacity = 100'000;
    request.options.mesh = MeshShape{.q_chunks = 1, .kv_chunks = request.homes};
    const Plan mesh = plan_mesh(request);
    const Plan ring = plan_ring(request);
    EXPECT_EQ(mesh.batch, ring.batch);
    EXPECT_EQ(pairs_per_server(mesh), pairs_per_server(ring));
    const Traffic of_mesh = forward_traffic(mesh, request.shape);
    const Traffic of_ring = forward_traffic(ring, request.shape);
    EXPECT_EQ(of_mesh.recv_bytes_per_server, of_ring.recv_bytes_per_server);
    EXPECT_EQ(of_mesh.kv_bytes, of_ring.kv_bytes);
    EXPECT_EQ(of_mesh.q_bytes, 0);
  }
}

// A server gets a - 1 chunks of queries and b - 1 of keys and returns a - 1 partial results.
TEST(Mesh, MovesWhatTheFormulaSays) {
  PlanRequest request = one_document(12, Mask::Kind::kFull);
  for (const int a : {1, 2, 3, 4, 6, 12}) {
    const int b = 12 / a;
    request.options.mesh = MeshShape{.q_chunks = a, .kv_chunks = b};
    const Plan plan = plan_mesh(request);
    ASSERT_NO_THROW(verify_plan(plan));
    const Traffic traffic = forward_traffic(plan, request.shape);
    EXPECT_EQ(traffic.q_bytes, (a - 1) * kLength * request.shape.q_row_bytes()) << a;
    EXPECT_EQ(traffic.o_bytes, (a - 1) * kLength * request.shape.o_row_bytes()) << a;
    EXPECT_EQ(traffic.kv_bytes, (b - 1) * kLength * request.shape.kv_row_bytes()) << a;
  }
}

TEST(Mesh, IsExactlyBalancedOnOneCausalDocumentThatDivides) {
  PlanRequest request = one_document(12, Mask::Kind::kCausal);
  for (const int a : {1, 2, 3, 4, 6, 12}) {
    request.options.mesh = MeshShape{.q_chunks = a, .kv_chunks = 12 / a};
    EXPECT_THAT(pairs_per_server(plan_mesh(request)), Each(kLength * (kLength + 1) / 2 / 12)) << a;
  }
}

TEST(Mesh, TakesTheShapeThatMovesFewestBytes) {
  // With Q + O as wide as K + V, a full mask, n = 12: (3 - 1) + (4 - 1), or the other way round.
  PlanRequest request = one_document(12, Mask::Kind::kFull);
  request.shape = {.heads = 4, .kv_heads = 4, .head_dim = 8};
  const Traffic traffic = forward_traffic(plan_mesh(request), request.shape);
  EXPECT_EQ(traffic.total(), 5 * kLength * request.shape.kv_row_bytes());
  // 16 query heads a kv head: queries are dear, keys are not.
  request.shape = {.heads = 16, .kv_heads = 1, .head_dim = 8};
  EXPECT_EQ(forward_traffic(plan_mesh(request), request.shape).q_bytes, 0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    PlanRequest any = random_request(rng, static_cast<MaskShape>(seed % 7), kPairs);
    any.options.capacity = 100'000;
    const int64_t fewest = forward_traffic(plan_mesh(any), any.shape).total();
    for (int a = 1; a <= any.homes; ++a) {
      if (any.homes % a != 0) continue;
      any.options.mesh = MeshShape{.q_chunks = a, .kv_chunks = any.homes / a};
      EXPECT_LE(fewest, forward_traffic(plan_mesh(any), any.shape).total()) << "seed " << seed;
    }
  }
}

TEST(Mesh, RefusesOtherShapesAndNamesTheNearest) {
  PlanRequest request = one_document(6, Mask::Kind::kCausal);
  request.options.mesh = MeshShape{.q_chunks = 4, .kv_chunks = 2};
  EXPECT_THAT([&] { plan_mesh(request); },
              ThrowsMessage<NotApplicable>(HasSubstr("nearest: 3 x 2")));
  request.options.mesh = MeshShape{.q_chunks = 0, .kv_chunks = 6};
  EXPECT_THROW(plan_mesh(request), NotApplicable);
}

Rank home_of(const Document& document, int64_t row) {
  for (const Shard& shard : document.shards)
    if (shard.rows.contains(row)) return shard.home;
  return -1;
}

TEST(Mesh, BringsOneChunkARound) {
  PlanRequest request = one_document(12, Mask::Kind::kFull);
  for (const int a : {1, 2, 3, 12}) {
    request.options.mesh = MeshShape{.q_chunks = a, .kv_chunks = 12 / a};
    const Plan plan = plan_mesh(request);
    using Chunk = std::pair<bool, Rank>;  // of keys or of queries, where it lives
    std::map<std::pair<Rank, Chunk>, int> arrival;
    const auto needs = [&](const Task& task, bool keys, int64_t row) {
      const Rank home = home_of(plan.batch.documents[0], row);
      if (home == task.server) return;
      const auto at = arrival.insert({{task.server, {keys, home}}, task.round}).first;
      at->second = std::min(at->second, task.round);
    };
    for (const Task& task : plan.tasks) {
      for (int64_t row = task.piece.q.begin; row < task.piece.q.end; ++row) needs(task, false, row);
      for (int64_t row = task.piece.kv.begin; row < task.piece.kv.end; ++row)
        needs(task, true, row);
    }
    std::map<Rank, std::set<int>> rounds;
    for (const auto& [chunk, round] : arrival)
      EXPECT_TRUE(rounds[chunk.first].insert(round).second) << "two chunks in round " << round;
    for (const auto& [server, of_server] : rounds) {
      EXPECT_EQ(*of_server.begin(), 1) << "server " << server;
      EXPECT_EQ(*of_server.rbegin(), a + 12 / a - 2) << "server " << server;
    }
  }
}

TEST(MeshRounds, BringNextWhatUnlocksMost) {
  const MeshRounds rounds({.q_chunks = 3, .kv_chunks = 4});
  EXPECT_THAT(rounds.kv, ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(rounds.q, ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace cadenza
