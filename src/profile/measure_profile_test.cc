#include "profile/measure_profile.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "profile/measure_exchange.h"

namespace cadenza {
namespace {

TEST(MeasureProfile, GivesAProfileThatCanBeReadAndKnowsItsOwnError) {
  const auto backend = make_cpu_backend(1);
  const ModelShape shape{.heads = 2, .kv_heads = 1, .head_dim = 16, .dtype = Dtype::kFloat32};
  int64_t done = 0, all = 0;
  const Profile profile = measure_profile(*backend, "test",
                                          {.shape = shape,
                                           .budget_seconds = 0.3,
                                           .repeats = 1,
                                           .progress = [&](int64_t now, int64_t total) {
                                             EXPECT_EQ(now, done + 1);
                                             done = now;
                                             all = total;
                                           }});
  EXPECT_EQ(done, all);
  EXPECT_EQ(profile.error.points, 18);
  EXPECT_GT(profile.error.median, 0);
  EXPECT_GE(profile.error.worst, profile.error.median);
  const std::string path = testing::TempDir() + "/measured_profile_test.json";
  write_file(path, profile_to_json(profile).dump());
  EXPECT_EQ(profile_to_json(read_profile(path)), profile_to_json(profile));
}

TEST(MeasureExchange, GivesRatesThatAProfileMayHold) {
  const auto backend = make_cpu_backend(1);
  const ModelShape shape{.heads = 2, .kv_heads = 1, .head_dim = 16, .dtype = Dtype::kFloat32};
  Profile profile{.kernel = "test",
                  .shape = shape,
                  .forward = {{1, 2}, {1, 2}, {{1e-6, 2e-6}, {2e-6, 4e-6}}},
                  .backward = {{1, 2}, {1, 2}, {{1e-6, 2e-6}, {2e-6, 4e-6}}}};
  profile.exchange = measure_exchange(*backend, shape);
  EXPECT_GT(profile.exchange->seconds(1e9), profile.exchange->seconds(1e6));
  const std::string path = testing::TempDir() + "/measured_exchange_test.json";
  write_file(path, profile_to_json(profile).dump());
  EXPECT_EQ(profile_to_json(read_profile(path)), profile_to_json(profile));
}

}  // namespace
}  // namespace cadenza
