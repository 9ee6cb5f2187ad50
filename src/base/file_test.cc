#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A folder of this test's own, gone at its end.
class File : public testing::Test {
 protected:
  File() { std::filesystem::create_directories(folder_); }
  ~File() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "/cadenza_file_test";
};

TEST_F(File, ReadsWhatWasWritten) {
  const std::string path = folder_ + "/a";
  const std::string content("line\n\0binary\xff", 13);
  write_file(path, "an older and longer content that must go");
  write_file(path, content);
  EXPECT_EQ(read_file(path), content);
}

TEST_F(File, LeavesNoPartBehind) {
  write_file(folder_ + "/a", "x");
  EXPECT_THROW(write_file(folder_ + "/missing/a", "x"), DataError);
  std::filesystem::create_directory(folder_ + "/b");
  EXPECT_THROW(write_file(folder_ + "/b", "x"), DataError);  // a folder is no file to replace
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().string(), testing::Not(HasSubstr(".part")));
  }
}

TEST_F(File, ErrorsNameThePathAndTheReason) {
  EXPECT_THAT(
      [&] { read_file(folder_ + "/none"); },
      ThrowsMessage<DataError>(AllOf(HasSubstr(folder_ + "/none"), HasSubstr("No such file"))));
  EXPECT_THAT([&] { read_file(folder_); },
              ThrowsMessage<DataError>(HasSubstr("expected a file, got the folder")));
}

}  // namespace
}  // namespace cadenza
