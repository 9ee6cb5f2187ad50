#include "data/scan_file.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/rng.h"
#include "data/temp_corpus_test.h"

namespace cadenza {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<int64_t> find_all(const std::string& text, const std::string& word) {
  std::vector<int64_t> found;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
    found.push_back(static_cast<int64_t>(at));
  }
  return found;
}

TEST(ScanFile, FindsSeparatorsWhereverChunksEnd) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const TempFolder folder;
  Rng rng(kSeed);
  std::string text(size_t{700} << 10, ' ');  // more than two chunks, full of near misses
  for (char& byte : text) byte = "ab\n"[uniform_below(rng, 3)];
  const std::string path = folder.write("a", text);
  for (const char* separator : {"\n", "ab", "aa", "a\nab\nb"}) {
    const FileScan scan = scan_file(path, separator);
    EXPECT_EQ(scan.bytes, static_cast<int64_t>(text.size()));
    EXPECT_FALSE(scan.separators.empty());
    EXPECT_TRUE(scan.separators == find_all(text, separator)) << "separator " << separator;
  }
}

TEST(ScanFile, SeparatorsDoNotOverlap) {
  const TempFolder folder;
  EXPECT_THAT(scan_file(folder.write("a", "aaaaa"), "aa").separators, ElementsAre(0, 2));
}

TEST(ScanFile, ANulAnywhereMakesAFileBinary) {
  const TempFolder folder;
  std::string text(size_t{1} << 20, 'x');
  EXPECT_FALSE(scan_file(folder.write("text", text), "").binary);
  text.back() = '\0';
  EXPECT_TRUE(scan_file(folder.write("late", text), "").binary);
}

TEST(ScanFile, SaysWhatCannotBeRead) {
  const TempFolder folder;
  EXPECT_FALSE(scan_file(folder.of("missing"), "").readable);
  EXPECT_FALSE(scan_file(folder.path(), "").readable);
  EXPECT_TRUE(scan_file(folder.write("empty", ""), "").readable);
}

TEST(ReadFileRange, RefusesAFileThatChangedItsSizeOrWent) {
  const TempFolder folder;
  const std::string path = folder.write("a", "0123456789");
  EXPECT_EQ(read_file_range(path, 2, 5, 10), "234");
  EXPECT_THAT([&] { read_file_range(path, 2, 5, 9); },
              ThrowsMessage<DataError>(HasSubstr("got 10")));
  EXPECT_THAT([&] { read_file_range(path, 2, 12, 10); }, ThrowsMessage<DataError>(HasSubstr(path)));
  EXPECT_THAT([&] { read_file_range(folder.of("b"), 0, 1, 1); },
              ThrowsMessage<DataError>(HasSubstr("cannot read")));
}

}  // namespace
}  // namespace cadenza
