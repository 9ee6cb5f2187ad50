#include "core/traffic.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cadenza {
namespace {

constexpr ModelShape kShape{
    .heads = 4, .kv_heads = 2, .head_dim = 8, .dtype = Dtype::kBFloat16, .grad_dtype = {}};
constexpr int64_t kQRow = 4 * 8 * 2, kKvRow = 2 * 2 * 8 * 2;  // bytes
const Cluster kTwoNodes{.servers = 4, .speeds = {}, .servers_per_node = 2};

/// One causal document, 4 rows on each of 4 servers. Servers 2 and 3 read the keys of rank 0 in
/// rounds 1 and 2; what else they should read is left out.
Plan two_readers() {
  Plan plan{.strategy = "by hand",
            .servers = 4,
            .batch = fill_sequentially(documents_of_lengths({16}), 4, 4),
            .tasks = {}};
  for (const int server : {2, 3}) {
    plan.tasks.push_back({.document = 0,
                          .piece = {{4 * server, 4 * server + 4}, {0, 4}, Band::causal()},
                          .server = server,
                          .round = server - 1});
  }
  return plan;
}

TEST(Traffic, CountsFarBytesAlongTheWay) {
  Plan plan = two_readers();
  const Traffic direct = forward_traffic(plan, kShape, kTwoNodes);
  EXPECT_EQ(direct.far_bytes, 2 * 4 * kKvRow);
  plan.tasks[1].via = 2;  // keys cross to the second node once
  const Traffic relayed = forward_traffic(plan, kShape, kTwoNodes);
  EXPECT_EQ(relayed.far_bytes, 4 * kKvRow);
  EXPECT_EQ(relayed.kv_bytes, direct.kv_bytes);
  EXPECT_EQ(relayed.recv_bytes_per_server, direct.recv_bytes_per_server);
  EXPECT_EQ(forward_traffic(plan, kShape).far_bytes, 0) << "one node";
}

TEST(Traffic, OutputsGoStraightHome) {
  Plan plan = two_readers();
  plan.tasks[0].server = 1;  // rank 2's queries cross, and their O back; keys of rank 0 are near
  EXPECT_EQ(forward_traffic(plan, kShape, kTwoNodes).far_bytes, 2 * 4 * kQRow + 4 * kKvRow);
}

TEST(Traffic, RefusesARelayThatDoesNotHoldTheRows) {
  Plan plan = two_readers();
  plan.tasks[1].via = 1;
  EXPECT_THROW(forward_traffic(plan, kShape, kTwoNodes), PlanError);
}

TEST(Traffic, ExtraKeysAreWholeRowsHoweverManyHeadsAreRead) {
  Plan plan = two_readers();
  plan.tasks[0].heads = {0, 2};  // one kv head of two
  plan.tasks[1] = plan.tasks[0];
  plan.tasks[1].piece.kv = {2, 6};
  plan.tasks[1].heads = {2, 4};
  const Traffic traffic = forward_traffic(plan, kShape);
  EXPECT_EQ(traffic.kv_bytes, 8 * kKvRow / 2);
  EXPECT_EQ(traffic.max_extra_kv_rows, 6);
  EXPECT_EQ(traffic.max_extra_kv_bytes, 6 * kKvRow);
}

TEST(Traffic, BackwardMatchesAHandCount) {
  Plan plan = two_readers();
  plan.tasks[0].server = 1;  // 4 query rows and 2 * 4 key rows move
  ModelShape shape = kShape;
  const Traffic forward = forward_traffic(plan, shape);
  BackwardTraffic backward = backward_traffic(forward, shape);
  EXPECT_EQ(backward.q_bytes, 4 * (2 * kQRow + 2 * 4 * 4));  // dO and dQ; LSE and D, 4 heads
  EXPECT_EQ(backward.kv_bytes, 8 * kKvRow);
  backward = backward_traffic(forward, shape, BackwardInputs::kSentAgain);
  EXPECT_EQ(backward.q_bytes, 4 * (3 * kQRow + 2 * 4 * 4));
  EXPECT_EQ(backward.kv_bytes, 2 * 8 * kKvRow);
  shape.grad_dtype = Dtype::kFloat32;  // dQ, dK and dV are twice as wide, dO is not
  backward = backward_traffic(forward, shape);
  EXPECT_EQ(backward.q_bytes, 4 * (3 * kQRow + 2 * 4 * 4));
  EXPECT_EQ(backward.kv_bytes, 2 * 8 * kKvRow);
}

}  // namespace
}  // namespace cadenza
