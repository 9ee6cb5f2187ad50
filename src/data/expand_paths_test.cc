#include "data/expand_paths.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/temp_corpus_test.h"

namespace cadenza {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> names(const TempFolder& folder, const std::vector<std::string>& patterns) {
  std::vector<std::string> absolute;
  for (const std::string& pattern : patterns) absolute.push_back(folder.of(pattern));
  std::vector<std::string> found;
  for (const FoundFile& file : expand_paths(absolute).files) {
    found.push_back(std::filesystem::path(file.path).lexically_relative(folder.path()).string());
  }
  return found;
}

TEST(MatchesName, StarAndQuestionMarkMatchAsAShellDoes) {
  EXPECT_TRUE(matches_name("*.py", "a.py"));
  EXPECT_TRUE(matches_name("*.py", ".py"));
  EXPECT_FALSE(matches_name("*.py", "a.pyc"));
  EXPECT_TRUE(matches_name("a?c", "abc"));
  EXPECT_FALSE(matches_name("a?c", "ac"));
  EXPECT_TRUE(matches_name("*a*b*", "xxaabyb"));
  EXPECT_FALSE(matches_name("*a*b", "xxaabyc"));
  EXPECT_FALSE(matches_name("", "a"));
}

TEST(ExpandPaths, WalksFoldersByNameInTheOrderOfThePatterns) {
  const TempFolder folder;
  for (const char* name : {"z/2", "z/1", "z/10", "z/sub/0", "a/9"}) folder.write(name, "x");
  EXPECT_THAT(names(folder, {"z", "a"}), ElementsAre("z/1", "z/10", "z/2", "z/sub/0", "a/9"));
}

TEST(ExpandPaths, GlobsMatchFilesAtOneDepthAndTwoStarsAtAny) {
  const TempFolder folder;
  for (const char* name : {"a.h", "b.txt", "d/c.h", "d/e/f.h", "d/e/g.txt", "x/d/e/h.h"}) {
    folder.write(name, "x");
  }
  EXPECT_THAT(names(folder, {"*.h"}), ElementsAre("a.h"));
  EXPECT_THAT(names(folder, {"*/*.h"}), ElementsAre("d/c.h"));
  EXPECT_THAT(names(folder, {"**/*.h"}), ElementsAre("a.h", "d/c.h", "d/e/f.h", "x/d/e/h.h"));
  EXPECT_THAT(names(folder, {"**/e/**/?.h"}), ElementsAre("d/e/f.h", "x/d/e/h.h"));
  EXPECT_THAT(names(folder, {"d/**"}), ElementsAre("d/c.h", "d/e/f.h", "d/e/g.txt"));
}

TEST(ExpandPaths, ANameWithAStarThatExistsIsThatFile) {
  const TempFolder folder;
  folder.write("a*", "x");
  folder.write("ab", "x");
  EXPECT_THAT(names(folder, {"a*"}), ElementsAre("a*"));
}

TEST(ExpandPaths, AFileReachedTwiceCountsOnceAndStaysNamed) {
  const TempFolder folder;
  folder.write("d/a", "x");
  folder.write("d/b", "x");
  std::filesystem::create_directory_symlink(folder.of("d"), folder.of("link"));
  EXPECT_THAT(names(folder, {"d", "d/*", "d/../d/b", "link", "link/a"}), ElementsAre("d/a", "d/b"));
  const ExpandedPaths twice = expand_paths({folder.of("d"), folder.of("d/b")});
  EXPECT_FALSE(twice.files.at(0).named);
  EXPECT_TRUE(twice.files.at(1).named);
}

TEST(ExpandPaths, ALoopOfLinksEnds) {
  const TempFolder folder;
  folder.write("d/a", "x");
  std::filesystem::create_directory_symlink(folder.path(), folder.of("d/up"));
  std::filesystem::create_symlink("self", folder.of("d/self"));
  EXPECT_THAT(names(folder, {"d", "**/a", "*/**/a*", "d/**"}), ElementsAre("d/a"));
}

TEST(ExpandPaths, PipesAndDanglingLinksAreCountedAndNeverOpened) {
  const TempFolder folder;
  folder.write("a", "x");
  ASSERT_EQ(::mkfifo(folder.of("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder.of("link"));
  const ExpandedPaths found = expand_paths({folder.path()});
  EXPECT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.unreadable, 2);
  EXPECT_THAT([&] { expand_paths({folder.of("pipe")}); },
              ThrowsMessage<DataError>(HasSubstr("neither file nor folder")));
}

TEST(ExpandPaths, WhatLeadsToNoFileIsRefusedByName) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.of("empty"));
  const auto refuses = [](const std::string& path, const std::string& text) {
    EXPECT_THAT([&] { expand_paths({path}); },
                ThrowsMessage<DataError>(
                    AllOf(HasSubstr(path), HasSubstr(text), HasSubstr("correct data.paths"))));
  };
  refuses(folder.of("missing"), "No such file");
  refuses(folder.of("empty"), "expected files in the folder");
  refuses(folder.of("*.txt"), "expected files that match");
  refuses(folder.of("missing/**/*.txt"), "expected files that match");
  refuses("", "got ''");
}

}  // namespace
}  // namespace cadenza
