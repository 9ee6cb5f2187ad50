#include "core/cost/profile.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "core/cost/profile_cost_model.h"
#include "core/cost/read_cost_model.h"

namespace cadenza {
namespace {

AttentionGrid example() { return {{16, 64}, {100, 400}, {{1, 4}, {2, 32}}}; }

Profile example_profile() {
  return {.kernel = "by hand",
          .shape = {.heads = 8, .kv_heads = 2, .head_dim = 64, .dtype = Dtype::kFloat32},
          .forward = example(),
          .backward = {{16, 64}, {100, 400}, {{3, 8}, {6, 60}}},
          .error = {.points = 5, .median = 0.01, .worst = 0.5},
          .exchange = ExchangeCost{1e-5, 1e9, 4e9}};
}

TEST(AttentionGrid, InterpolatesLogarithms) {
  const AttentionGrid grid = example();
  EXPECT_DOUBLE_EQ(grid.seconds(16, 100), 1);
  EXPECT_DOUBLE_EQ(grid.seconds(64, 400), 32);
  EXPECT_NEAR(grid.seconds(16, 200), 2, 1e-12);  // halfway from 1 to 4, in logarithms
  EXPECT_NEAR(grid.seconds(32, 100), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(grid.seconds(32, 200), std::sqrt(2.0 * 8.0), 1e-12);
}

TEST(AttentionGrid, KeepsTheTimeOfAPairOutside) {
  const AttentionGrid grid = example();
  EXPECT_NEAR(grid.seconds(128, 800), 4 * 32, 1e-9);
  EXPECT_NEAR(grid.seconds(4, 100), 0.25, 1e-12);
  EXPECT_NEAR(grid.seconds(16, 25), 0.25, 1e-12);
  EXPECT_NEAR(grid.seconds(32, 800), 2 * grid.seconds(32, 400), 1e-9);
}

TEST(AttentionGrid, NeverFallsWhereASideGrows) {
  const AttentionGrid grid({16, 32, 64}, {100, 200, 400}, {{1, 0.5, 4}, {0.9, 3, 2}, {5, 5, 5}});
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const auto q = static_cast<double>(uniform_between(rng, 1, 200));
    const auto kv = static_cast<double>(uniform_between(rng, 1, 1000));
    EXPECT_LE(grid.seconds(q, kv), grid.seconds(q + 1, kv) * (1 + 1e-12)) << q << ' ' << kv;
    EXPECT_LE(grid.seconds(q, kv), grid.seconds(q, kv + 1) * (1 + 1e-12)) << q << ' ' << kv;
  }
}

TEST(ProfileCostModel, CountsAPieceAsARectangleOfAsManyPairs) {
  const ProfileCostModel model(example_profile());
  const Piece rectangle{{0, 16}, {0, 100}, Band::full()};
  EXPECT_DOUBLE_EQ(model.forward_seconds(rectangle), 1);
  EXPECT_DOUBLE_EQ(model.task_cost(rectangle), 4);
  const Piece triangle{{0, 63}, {0, 63}, Band::causal()};  // 32 keys a row on average
  EXPECT_NEAR(model.forward_seconds(triangle), example().seconds(63, 32), 1e-12);
  EXPECT_EQ(model.task_cost({{0, 4}, {8, 9}, Band::causal()}), 0);
}

TEST(ProfileCostModel, TellsWhatItExtrapolates) {
  const ProfileCostModel model(example_profile());
  EXPECT_FALSE(model.extrapolates({{0, 16}, {0, 100}, Band::full()}));
  EXPECT_TRUE(model.extrapolates({{0, 65}, {0, 100}, Band::full()}));
  EXPECT_TRUE(model.extrapolates({{0, 64}, {0, 401}, Band::full()}));
  EXPECT_TRUE(model.extrapolates({{0, 63}, {0, 63}, Band::causal()}));  // 32 keys a row
}

TEST(ProfileCostModel, PricesAnExchange) {
  const ProfileCostModel model(example_profile());
  ASSERT_NE(model.exchange(), nullptr);
  EXPECT_EQ(model.exchange()->seconds(0), 0);
  EXPECT_NEAR(model.exchange()->seconds(1e9), 1e-5 + 1 + 0.5, 1e-12);
  Profile without = example_profile();
  without.exchange.reset();
  EXPECT_EQ(ProfileCostModel(without).exchange(), nullptr);
  EXPECT_EQ(PairsCostModel().exchange(), nullptr);
}

TEST(ReadCostModel, RefusesAProfileOfOtherAttention) {
  const std::string path = testing::TempDir() + "/other_profile_test.json";
  write_file(path, profile_to_json(example_profile()).dump());
  ModelShape shape = example_profile().shape;
  EXPECT_STREQ(read_cost_model("pairs", shape)->name(), "pairs");
  EXPECT_STREQ(read_cost_model(path, shape)->name(), "profile");
  const auto refused = [&](ModelShape other, const std::string& words) {
    EXPECT_THAT([&] { read_cost_model(path, other); },
                testing::ThrowsMessage<ConfigError>(testing::AllOf(
                    testing::HasSubstr("8 heads, 2 kv heads, head_dim 64, fp32"),
                    testing::HasSubstr(words), testing::HasSubstr("cadenza profile"))));
  };
  ModelShape other = shape;
  other.dtype = Dtype::kBFloat16;
  refused(other, "8 heads, 2 kv heads, head_dim 64, bf16");
  other = shape;
  other.head_dim = 128;
  refused(other, "head_dim 128");
  other = shape;
  other.kv_heads = 4;
  refused(other, "4 kv heads");
}

TEST(Profile, ComesBackFromItsFile) {
  const std::string path = testing::TempDir() + "/profile_test.json";
  write_file(path, profile_to_json(example_profile()).dump());
  const Profile read = read_profile(path);
  EXPECT_EQ(profile_to_json(read), profile_to_json(example_profile()));
}

TEST(Profile, RefusesWhatItCannotRead) {
  const std::string path = testing::TempDir() + "/profile_test.json";
  const auto refused = [&](const std::function<void(Json&)>& change, const std::string& field) {
    Json json = profile_to_json(example_profile());
    change(json);
    write_file(path, json.dump());
    EXPECT_THAT([&] { read_profile(path); },
                testing::ThrowsMessage<DataError>(
                    testing::AllOf(testing::HasSubstr(path), testing::HasSubstr(field))));
  };
  refused([](Json& j) { j["format"] = "cadenza-plan"; }, "format");
  refused([](Json& j) { j["q_rows"] = {64, 16}; }, "q_rows");
  refused([](Json& j) { j["kv_rows"] = {64}; }, "kv_rows");
  refused([](Json& j) { j["forward_seconds"][1][0] = 0; }, "forward_seconds[1][0]");
  refused([](Json& j) { j["forward_seconds"][1][0] = 1e308; }, "1e-12 to 1e6");
  refused([](Json& j) { j["forward_seconds"][1][0] = 1e-300; }, "1e-12 to 1e6");
  refused([](Json& j) { j["forward_seconds"][0][0] = 1e5; }, "1 for each pair");
  refused(
      [](Json& j) {
        j["q_rows"] = {16, 1 << 20};
        j["forward_seconds"][1][1] = 1e-12;
      },
      "1e-18");
  refused([](Json& j) { j["exchange"]["bytes_per_second"] = 1e308; }, "1 to 1e15");
  refused([](Json& j) { j["exchange"]["latency_seconds"] = -1; }, "latency_seconds");
  refused([](Json& j) { j["exchange"].erase("pack_bytes_per_second"); }, "pack_bytes_per_second");
  refused([](Json& j) { j["machine"] = "mine"; }, "machine: expected an object");
  refused([](Json& j) { j["backward_seconds"][0] = {1.0}; }, "backward_seconds[0]");
  refused([](Json& j) { j["model"]["dtype"] = "fp8"; }, "model.dtype");
  refused([](Json& j) { j.erase("q_rows"); }, "q_rows");
}

}  // namespace
}  // namespace cadenza
