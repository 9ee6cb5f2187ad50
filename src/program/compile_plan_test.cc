#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "core/needed_rows.h"
#include "core/row_set.h"
#include "core/traffic.h"
#include "program/rank_program.h"
#include "program/row_layout.h"
#include "testing/random_batch.h"
#include "testing/random_plan.h"

namespace cadenza {
namespace {

constexpr int64_t kHeads = 6, kKvHeads = 2;

int64_t count_rows(const std::vector<RowRun>& runs) {
  int64_t rows = 0;
  for (const RowRun& run : runs) rows += run.rows.size();
  return rows;
}

/// Exact plans of every kind: masks, heads and keys split at random, half of them in rounds.
VerifiedPlan random_verified_plan(Rng& rng, bool rounds) {
  const int ranks = static_cast<int>(uniform_between(rng, 1, 5));
  const Batch batch =
      random_batch(rng, {.ranks = ranks, .max_documents = 6, .max_length = 40, .masks = true});
  Plan plan = random_plan(rng, batch, ranks, kHeads);
  if (rounds) plan = with_random_rounds(rng, std::move(plan));
  return verify_plan(std::move(plan));
}

TEST(CompilePlan, SendsExactlyTheBytesThatTrafficCounts) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const VerifiedPlan plan = random_verified_plan(rng, seed % 4 >= 2);
    ModelShape shape{kHeads, kKvHeads, 8, seed % 2 == 0 ? Dtype::kFloat32 : Dtype::kBFloat16};
    if (seed % 3 == 0) shape.grad_dtype = Dtype::kFloat32;
    const Traffic forward = forward_traffic(plan.plan(), shape);
    const BackwardTraffic backward = backward_traffic(forward, shape);
    ProgramBytes sum;
    for (const RankProgram& program : compile_plan(plan, kHeads, kKvHeads)) {
      const ProgramBytes bytes = sent_bytes(program, shape);
      sum.forward_q += bytes.forward_q;
      sum.forward_kv += bytes.forward_kv;
      sum.forward_o += bytes.forward_o;
      sum.backward_q += bytes.backward_q;
      sum.backward_kv += bytes.backward_kv;
    }
    EXPECT_EQ(sum.forward_q, forward.q_bytes);
    EXPECT_EQ(sum.forward_kv, forward.kv_bytes);
    EXPECT_EQ(sum.forward_o, forward.o_bytes + forward.lse_bytes);
    EXPECT_EQ(sum.backward_q, backward.q_bytes);
    EXPECT_EQ(sum.backward_kv, backward.kv_bytes);
  }
}

int64_t count_row_heads(const std::vector<RowRun>& runs) {
  int64_t sum = 0;
  for (const RowRun& run : runs) sum += run.rows.size() * run.heads.size();
  return sum;
}

/// Q, K, V (by round) and O that the programs send between nodes.
int64_t far_row_heads(const std::vector<RankProgram>& programs, const Cluster& cluster) {
  int64_t sum = 0;
  for (const RankProgram& program : programs) {
    for (const InputRound& round : program.rounds) {
      for (const auto* peers : {&round.from_home, &round.passed_on}) {
        for (const PeerRows& peer : *peers) {
          if (!cluster.near(program.rank, peer.peer))
            sum += count_row_heads(peer.q) + 2 * count_row_heads(peer.kv);
        }
      }
    }
    for (const PeerRows& home : program.as_server) {
      if (!cluster.near(program.rank, home.peer)) sum += count_row_heads(home.q);
    }
  }
  return sum;
}

TEST(CompilePlan, SendsTheFarBytesThatTrafficCounts) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const VerifiedPlan plan = random_verified_plan(rng, seed % 4 >= 2);
    const int servers = plan.plan().servers;
    const Cluster cluster{
        .servers = servers, .speeds = {}, .servers_per_node = static_cast<int>(seed % 3)};
    const ModelShape shape{kHeads, kKvHeads, 8, Dtype::kFloat32};
    const Traffic traffic = forward_traffic(plan.plan(), shape, cluster);
    EXPECT_EQ(traffic.far_bytes,
              far_row_heads(compile_plan(plan, kHeads, kKvHeads), cluster) * 8 * 4);
    if (cluster.servers_per_node == 0) {
      EXPECT_EQ(traffic.far_bytes, 0);
    }
    if (cluster.servers_per_node == 1) {
      EXPECT_EQ(traffic.far_bytes, traffic.total());
    }
  }
}

TEST(CompilePlan, KeepsTheExtraKeyRowsThatTrafficCounts) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const VerifiedPlan plan = random_verified_plan(rng, seed % 4 >= 2);
    int64_t most = 0;
    for (const RankProgram& program : compile_plan(plan, kHeads, kKvHeads)) {
      RowSet own;  // several runs may hold the same row, for different heads
      int64_t rows = program.server_kv_rows;
      for (const PeerRows& home : program.as_server) {
        if (home.peer != program.rank) continue;
        for (const RowRun& run : home.kv) {
          for (const Range fresh : own.add(run.rows)) rows -= fresh.size();
        }
      }
      most = std::max(most, rows);
    }
    const ModelShape shape{kHeads, kKvHeads, 8, Dtype::kBFloat16};
    const Traffic traffic = forward_traffic(plan.plan(), shape);
    EXPECT_EQ(traffic.max_extra_kv_rows, most);
    EXPECT_EQ(traffic.max_extra_kv_bytes, most * 2 * kKvHeads * 8 * 2);
  }
}

TEST(CompilePlan, BothEndsListTheSameRowsAndTasksStayInsideTheLayout) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Batch batch = random_batch(rng, {.ranks = 3, .max_documents = 6, .max_length = 40});
    const auto programs =
        compile_plan(verify_plan(random_plan(rng, batch, 3, kHeads)), kHeads, kKvHeads);
    for (const RankProgram& program : programs) {
      for (const PeerRows& server : program.as_home) {
        const auto& theirs = programs[static_cast<size_t>(server.peer)].as_server;
        const auto same = std::find_if(theirs.begin(), theirs.end(), [&](const PeerRows& rows) {
          return rows.peer == program.rank;
        });
        ASSERT_NE(same, theirs.end());
        EXPECT_EQ(count_rows(server.q), count_rows(same->q));
        EXPECT_EQ(count_rows(server.kv), count_rows(same->kv));
        for (const RowRun& run : server.q) EXPECT_LE(run.rows.end, program.home_rows);
      }
      for (const AttendTask& task : program.tasks) {
        EXPECT_LE(task.q.end, program.server_q_rows);
        EXPECT_LE(task.kv.end, program.server_kv_rows);
      }
    }
  }
}

TEST(CompilePlan, SendsAKeyRowOnceHoweverManyTasksReadIt) {
  // Four tasks near the end of one long document, all on server 3: its keys travel once.
  Batch batch = fill_sequentially(documents_of_lengths({65536}), 4, 16384);
  Plan plan{.strategy = "by hand", .servers = 4, .batch = batch, .tasks = {}};
  plan.tasks.push_back(
      {.document = 0, .piece = {{0, 49152}, {0, 49152}, Band::causal()}, .server = 0});
  for (int64_t q = 49152; q < 65536; q += 4096) {
    plan.tasks.push_back(
        {.document = 0, .piece = {{q, q + 4096}, {0, q + 4096}, Band::causal()}, .server = 3});
  }
  const auto programs = compile_plan(verify_plan(plan), kHeads, kKvHeads);
  EXPECT_EQ(programs[3].server_kv_rows, 65536);
  int64_t received = 0;
  for (const PeerRows& home : programs[3].as_server) received += count_rows(home.kv);
  EXPECT_EQ(received, 65536);
}

TEST(CompilePlan, SendsOneMessageToAServerHoweverManyDocuments) {
  Batch batch = fill_sequentially(documents_of_lengths(std::vector<int64_t>(4096, 16)), 2, 32768);
  Plan plan{.strategy = "all on one", .servers = 2, .batch = batch, .tasks = {}};
  for (int document = 0; document < 4096; ++document) {
    plan.tasks.push_back(
        {.document = document, .piece = {{0, 16}, {0, 16}, Band::causal()}, .server = 1});
  }
  const auto programs = compile_plan(verify_plan(plan), kHeads, kKvHeads);
  ASSERT_EQ(programs[0].as_home.size(), 1u);
  EXPECT_EQ(programs[0].as_home[0].q.size(), 1u) << "neighbouring documents pack as one run";
}

TEST(CompilePlan, MarksTasksThatShareQueryRows) {
  Batch batch = fill_sequentially(documents_of_lengths({12, 4}), 1, 16);
  Plan plan{.strategy = "by hand", .servers = 1, .batch = batch, .tasks = {}};
  plan.tasks = {{.document = 0, .piece = {{0, 8}, {0, 8}, Band::causal()}},
                {.document = 0, .piece = {{8, 12}, {0, 6}, Band::causal()}},
                {.document = 0, .piece = {{8, 12}, {6, 12}, Band::causal()}},
                {.document = 1, .piece = {{0, 4}, {0, 4}, Band::causal()}}};
  const auto programs = compile_plan(verify_plan(plan), kHeads, kKvHeads);
  std::vector<bool> merges;
  for (const AttendTask& task : programs[0].tasks) merges.push_back(task.merge);
  EXPECT_THAT(merges, testing::ElementsAre(false, true, true, false));
}

TEST(CompilePlan, SendsRowsOfALaterRoundFromTheirRelay) {
  Plan plan{.strategy = "by hand",
            .servers = 3,
            .batch = fill_sequentially(documents_of_lengths({4}), 3, 4),
            .tasks = {}};
  plan.tasks = {
      {.document = 0, .piece = {{0, 2}, {0, 2}, Band::causal()}, .server = 0},
      {.document = 0, .piece = {{2, 3}, {0, 3}, Band::causal()}, .server = 1, .round = 3},
      {.document = 0, .piece = {{3, 4}, {0, 3}, Band::causal()}, .server = 2, .round = 7, .via = 0},
      {.document = 0, .piece = {{3, 4}, {3, 4}, Band::causal()}, .server = 2, .round = 7}};
  EXPECT_EQ(compile_plan(verify_plan(plan), kHeads, kKvHeads)[0].rounds.size(), 3u);
  plan.tasks[2].piece.kv = {0, 2};
  plan.tasks[2].via = 1;  // keys that it got in round 3; the query is rank 0's
  plan.tasks.push_back({.document = 0, .piece = {{3, 4}, {2, 3}, Band::causal()}, .server = 2});
  plan.tasks.back().round = 2;  // brings the query home before
  const auto programs = compile_plan(verify_plan(plan), kHeads, kKvHeads);
  const InputRound& last = programs[1].rounds.back();
  ASSERT_EQ(last.passed_on.size(), 1u);
  EXPECT_EQ(last.passed_on[0].peer, 2);
  EXPECT_EQ(count_rows(last.passed_on[0].kv), 2);
  EXPECT_TRUE(last.from_home.empty());
  ASSERT_EQ(programs[2].rounds.back().of_relays.size(), 1u);
  EXPECT_EQ(programs[2].rounds.back().of_relays[0].peer, 1);
}

TEST(RowLayout, SharesRowsOfOverlappingRanges) {
  const RowLayout layout({{1, {4, 9}, {0, 2}}, {0, {2, 3}, {0, 4}}, {1, {0, 6}, {2, 4}}});
  EXPECT_EQ(layout.rows(), 10);
  EXPECT_EQ(layout.locate(0, {2, 3}), (Range{0, 1}));
  EXPECT_EQ(layout.locate(1, {4, 9}), (Range{5, 10}));
  EXPECT_THROW(layout.locate(0, {1, 3}), InternalError);
}

}  // namespace
}  // namespace cadenza
