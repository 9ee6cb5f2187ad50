#include "core/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "core/needed_rows.h"
#include "core/traffic.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A batch of 300 tokens in one document: rows [0, 256) on rank 0, the rest on rank 1; server 2 only
// serves.
Plan small_plan() {
  Plan plan;
  plan.servers = 3;
  plan.strategy = "by hand";
  plan.batch = fill_sequentially(documents_of_lengths({300}), 2, 256);
  plan.tasks.resize(2);
  plan.tasks[0].piece = {{0, 300}, {0, 256}, Band::causal()};
  plan.tasks[0].server = 2;
  plan.tasks[1].piece = {{256, 300}, {256, 300}, Band::causal()};
  plan.tasks[1].server = 1;
  return plan;
}

TEST(Plan, CountsPairsOfEveryServer) {
  EXPECT_THAT(pairs_per_server(small_plan()),
              ElementsAre(0, 44 * 45 / 2, 256 * 257 / 2 + 44 * 256));
}

TEST(Plan, APartOfTheHeadsCountsItsShare) {
  Plan plan = small_plan();
  EXPECT_EQ(named_heads(plan), 0);
  plan.tasks.push_back(plan.tasks[1]);
  plan.tasks[1].heads = {0, 1};
  plan.tasks[2].heads = {1, 4};
  plan.tasks[2].server = 0;
  EXPECT_EQ(named_heads(plan), 4);
  EXPECT_THAT(pairs_per_server(plan), ElementsAre(990 * 3 / 4, 990 / 4, 256 * 257 / 2 + 44 * 256));
}

TEST(Plan, SharesOfTheLargestDocumentDoNotOverflow) {
  Plan plan = small_plan();
  plan.tasks[0].piece = {{0, kMaxTokens}, {0, kMaxTokens}, Band::full()};
  plan.tasks[0].heads = {0, 1000};
  plan.tasks[1].heads = {0, 1};
  EXPECT_EQ(pairs_per_server(plan)[2], kMaxTokens * kMaxTokens);
}

// Pinned: a change would make ranks of different builds disagree, and needs a new version of the
// format.
TEST(Plan, HashIsTheSameOnEveryMachine) {
  EXPECT_EQ(plan_hash(small_plan()), 0x7d8b94af768e22b1ull);
}

TEST(Plan, HashChangesWithEveryField) {
  const Plan plan = small_plan();
  std::set<uint64_t> hashes = {plan_hash(plan)};
  size_t changes = 0;
  const auto change = [&](auto edit) {
    Plan other = plan;
    edit(other);
    hashes.insert(plan_hash(other));
    ++changes;
  };
  change([](Plan& p) { p.strategy = "x"; });
  change([](Plan& p) { p.servers = 4; });
  change([](Plan& p) { p.batch.homes = 3; });
  change([](Plan& p) { p.batch.documents.clear(); });
  change([](Plan& p) { p.batch.documents[0].length = 301; });
  change([](Plan& p) { p.batch.documents[0].queries.end = 299; });
  change([](Plan& p) { p.batch.documents[0].nano_batch = 1; });
  change([](Plan& p) { p.batch.documents[0].mask.kind = Mask::Kind::kFull; });
  change([](Plan& p) { p.batch.documents[0].mask.window = 1; });
  change([](Plan& p) { p.batch.documents[0].mask.sinks = 1; });
  change([](Plan& p) { p.batch.documents[0].mask.chunk = 1; });
  change([](Plan& p) { p.batch.documents[0].mask.prefix = 1; });
  change([](Plan& p) { p.batch.documents[0].mask.explicit_pieces.resize(1); });
  change([](Plan& p) { p.batch.documents[0].shards[0].home = 2; });
  change([](Plan& p) { p.batch.documents[0].shards[0].rows.end = 255; });
  change([](Plan& p) { p.tasks.pop_back(); });
  change([](Plan& p) { std::swap(p.tasks[0], p.tasks[1]); });
  change([](Plan& p) { p.tasks[0].document = 1; });
  change([](Plan& p) { p.tasks[0].piece.q.begin = 1; });
  change([](Plan& p) { p.tasks[0].piece.kv.begin = 1; });
  change([](Plan& p) { p.tasks[0].piece.band.lowest = 1; });
  change([](Plan& p) { p.tasks[0].piece.band.highest = 1; });
  change([](Plan& p) { p.tasks[0].heads = {0, 1}; });
  change([](Plan& p) { p.tasks[0].server = 0; });
  change([](Plan& p) { p.tasks[0].round = 1; });
  change([](Plan& p) { p.tasks[0].via = 1; });
  EXPECT_EQ(hashes.size(), changes + 1);
}

TEST(NeededRows, AreTrimmedAndUnited) {
  Plan plan = small_plan();
  plan.tasks[0].piece = {{0, 300}, {100, 256}, Band::causal()};  // queries below 100 see no key
  plan.tasks.push_back(plan.tasks[0]);
  plan.tasks[2].piece = {{280, 300}, {0, 120}, Band::causal()};
  const std::vector<ServerNeeds> needs = needed_rows(plan, 8, 2);
  ASSERT_EQ(needs.size(), 3u);
  EXPECT_TRUE(needs[0].q.empty() && needs[0].kv.empty());
  EXPECT_THAT(needs[1].q, ElementsAre(NeededRows{0, {256, 300}, {0, 8}}));
  EXPECT_THAT(needs[1].kv, ElementsAre(NeededRows{0, {256, 300}, {0, 2}}));
  EXPECT_THAT(needs[2].q, ElementsAre(NeededRows{0, {100, 300}, {0, 8}}));
  EXPECT_THAT(needs[2].kv, ElementsAre(NeededRows{0, {0, 256}, {0, 2}}));
}

TEST(NeededRows, EqualNeighboursAmongHeadsAreOneRectangle) {
  Plan plan = small_plan();
  plan.tasks[0].heads = {0, 3};
  plan.tasks[1] = plan.tasks[0];
  plan.tasks[1].heads = {3, 5};
  const std::vector<ServerNeeds> needs = needed_rows(plan, 8, 2);
  EXPECT_THAT(needs[2].q, ElementsAre(NeededRows{0, {0, 300}, {0, 5}}));
  EXPECT_THAT(needs[2].kv, ElementsAre(NeededRows{0, {0, 256}, {0, 2}}));
}

TEST(NeededRows, HeadsBeyondTheModelAreRefused) {
  Plan plan = small_plan();
  plan.tasks[0].heads = {0, 9};
  EXPECT_THAT([&] { needed_rows(plan, 8, 2); },
              ThrowsMessage<PlanError>(HasSubstr("inside [0, 8), got [0, 9)")));
}

// Tasks at random, not a correct plan: needs and traffic are defined for any.
Plan random_tasks(Rng& rng, int64_t heads) {
  Plan plan;
  plan.servers = 4;
  plan.batch = random_batch(rng, {.ranks = 3, .max_length = 16});
  plan.tasks.resize(uniform_below(rng, 12));
  const auto range = [&](int64_t end) {
    const int64_t begin = uniform_between(rng, 0, end);
    return Range{begin, uniform_between(rng, begin, end)};
  };
  for (Task& task : plan.tasks) {
    task.document = static_cast<int>(uniform_below(rng, plan.batch.documents.size()));
    const int64_t length = plan.batch.documents[static_cast<size_t>(task.document)].length;
    task.piece = {range(length), range(length), Band::causal()};
    if (uniform_below(rng, 2) == 0) task.heads = range(heads);
    task.server = static_cast<Rank>(uniform_below(rng, 4));
  }
  return plan;
}

using RowAndHead = std::tuple<Rank, int, int64_t, int64_t>;  // server, document, row, head

std::multiset<RowAndHead> listed(const std::vector<ServerNeeds>& needs,
                                 std::vector<NeededRows> ServerNeeds::*part) {
  std::multiset<RowAndHead> all;
  for (size_t server = 0; server < needs.size(); ++server) {
    for (const NeededRows& need : needs[server].*part) {
      for (int64_t row = need.rows.begin; row < need.rows.end; ++row) {
        for (int64_t head = need.heads.begin; head < need.heads.end; ++head) {
          all.insert({static_cast<Rank>(server), need.document, row, head});
        }
      }
    }
  }
  return all;
}

// Every row × head that some pair of a task reads, one pair at a time.
std::pair<std::set<RowAndHead>, std::set<RowAndHead>> read_by_pairs(const Plan& plan, int64_t heads,
                                                                    int64_t ratio) {
  std::set<RowAndHead> q_rows;
  std::set<RowAndHead> kv_rows;
  for (const Task& task : plan.tasks) {
    const Range used = task.heads.empty() ? Range{0, heads} : task.heads;
    for (int64_t q = task.piece.q.begin; q < task.piece.q.end; ++q) {
      for (int64_t k = task.piece.kv.begin; k < task.piece.kv.end && k <= q; ++k) {
        for (int64_t head = used.begin; head < used.end; ++head) {
          q_rows.insert({task.server, task.document, q, head});
          kv_rows.insert({task.server, task.document, k, head / ratio});
        }
      }
    }
  }
  return {q_rows, kv_rows};
}

Rank home_of(const Batch& batch, int document, int64_t row) {
  for (const Shard& shard : batch.documents[static_cast<size_t>(document)].shards) {
    if (shard.rows.contains(row)) return shard.home;
  }
  return -1;
}

TEST(NeededRows, AreEveryRowAndHeadThatAPairReadsOnce) {
  const uint64_t seed = 31;
  Rng rng(seed);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Plan plan = random_tasks(rng, 6);
    const std::vector<ServerNeeds> needs = needed_rows(plan, 6, 2);
    const auto [q_rows, kv_rows] = read_by_pairs(plan, 6, 3);
    ASSERT_THAT(listed(needs, &ServerNeeds::q), testing::ElementsAreArray(q_rows));
    ASSERT_THAT(listed(needs, &ServerNeeds::kv), testing::ElementsAreArray(kv_rows));
    for (const ServerNeeds& server : needs) {
      for (size_t i = 1; i < server.q.size(); ++i) {
        const auto key = [&](size_t at) {
          const NeededRows& need = server.q[at];
          return std::tuple(need.document, need.heads.begin, need.rows.begin);
        };
        ASSERT_LT(key(i - 1), key(i));
      }
    }
  }
}

TEST(Traffic, CountsEveryForeignRowOnceAndOnePartialBack) {
  const uint64_t seed = 32;
  Rng rng(seed);
  const ModelShape shape{.heads = 6, .kv_heads = 2, .head_dim = 16, .dtype = Dtype::kFloat32};
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Plan plan = random_tasks(rng, shape.heads);
    const auto [q_rows, kv_rows] = read_by_pairs(plan, shape.heads, 3);
    int64_t q_bytes = 0;
    int64_t kv_bytes = 0;
    std::vector<int64_t> received(4);
    const auto add = [&](const RowAndHead& item, int64_t bytes, int64_t& sum) {
      const auto [server, document, row, head] = item;
      if (home_of(plan.batch, document, row) == server) return;
      sum += bytes;
      received[static_cast<size_t>(server)] += bytes;
    };
    for (const RowAndHead& item : q_rows) add(item, 16 * 4, q_bytes);
    for (const RowAndHead& item : kv_rows) add(item, 2 * 16 * 4, kv_bytes);
    const Traffic traffic = forward_traffic(plan, shape);
    ASSERT_EQ(traffic.q_bytes, q_bytes);
    ASSERT_EQ(traffic.kv_bytes, kv_bytes);
    ASSERT_EQ(traffic.o_bytes, q_bytes);
    ASSERT_EQ(traffic.recv_bytes_per_server, received);
    ASSERT_EQ(traffic.max_recv_bytes, *std::max_element(received.begin(), received.end()));
    ASSERT_EQ(traffic.total(), 2 * q_bytes + kv_bytes);
  }
}

// Hand count: server 2 has no rows; it fetches 300 query rows of 8,192 bytes and 256 key rows of
// 4,096.
TEST(Traffic, MatchesAHandCount) {
  const Traffic traffic = forward_traffic(small_plan(), {});
  EXPECT_EQ(traffic.q_bytes, 300 * 8192);
  EXPECT_EQ(traffic.kv_bytes, 256 * 4096);
  EXPECT_EQ(traffic.o_bytes, 300 * 8192);
  EXPECT_THAT(traffic.recv_bytes_per_server, ElementsAre(0, 0, 300 * 8192 + 256 * 4096));
}

}  // namespace
}  // namespace cadenza
