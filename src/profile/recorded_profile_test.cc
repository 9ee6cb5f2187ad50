#include "profile/recorded_profile.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"

namespace cadenza {
namespace {

std::string written(const std::string& text) {
  const std::string path = testing::TempDir() + "/recorded_profile_test.csv";
  write_file(path, text);
  return path;
}

TEST(RecordedProfile, ReadsRowsAndKeysOfARank) {
  const Profile profile = read_recorded_profile(written("L,cp,tp,duration_per_doc\n"
                                                        "64,1,1,0.02\n64,2,1,0.012\n64,1,2,9\n"
                                                        "1024,1,1,2\n1024,2,1,1\n"),
                                                {});
  EXPECT_EQ(profile.forward.kv_rows(), (std::vector<int64_t>{32, 512}));
  EXPECT_EQ(profile.forward.q_rows(), (std::vector<int64_t>{32, 64, 512, 1024}));
  EXPECT_DOUBLE_EQ(profile.forward.seconds(64, 32), 2e-5);
  EXPECT_DOUBLE_EQ(profile.forward.seconds(32, 32), 1.2e-5);
  EXPECT_DOUBLE_EQ(profile.forward.seconds(512, 512), 1e-3);
  EXPECT_DOUBLE_EQ(profile.forward.seconds(64, 512), 1e-3 / 8);  // the nearest: 512 rows
  EXPECT_DOUBLE_EQ(profile.backward.seconds(1024, 512), 2.5 * 2e-3);
}

TEST(RecordedProfile, RefusesWhatItCannotRead) {
  const auto refused = [](const std::string& text, const std::string& words) {
    EXPECT_THAT([&] { read_recorded_profile(written(text), {}); },
                testing::ThrowsMessage<DataError>(testing::AllOf(
                    testing::HasSubstr("recorded_profile_test.csv:"), testing::HasSubstr(words))));
  };
  refused("", "column names");
  refused("L,cp,tp\n64,1,1\n", "a column duration_per_doc");
  refused("L,cp,tp,duration_per_doc\n64,1,1,fast\n", ":2: expected a number above 0");
  refused("L,cp,tp,duration_per_doc\n64,1,1,1e308\n", "got '1e308'");
  refused("L,cp,tp,duration_per_doc\n64,1,1,0.1\n", "two lengths");
}

}  // namespace
}  // namespace cadenza
