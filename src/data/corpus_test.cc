#include "data/corpus.h"

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

constexpr int32_t kBegin = ByteVocabulary::kBeginOfDocument;
constexpr int32_t kEnd = ByteVocabulary::kEndOfDocument;

CorpusOptions bare(const std::vector<std::string>& paths) {
  CorpusOptions options;
  options.paths = paths;
  options.begin_token = options.end_token = false;
  return options;
}

TEST(Corpus, SpecialTokensStandExactlyOnceAtTheEnds) {
  const TempFolder folder;
  CorpusOptions options = bare({folder.write("a", "A\xff")});
  EXPECT_THAT(Corpus(options).read(0), ElementsAre('A', 255));
  options.begin_token = true;
  EXPECT_THAT(Corpus(options).read(0), ElementsAre(kBegin, 'A', 255));
  options.end_token = true;
  EXPECT_THAT(Corpus(options).read(0), ElementsAre(kBegin, 'A', 255, kEnd));
  EXPECT_EQ(Corpus(options).length(0), 4);
}

TEST(Corpus, ReadsAnyPartOfADocument) {
  const TempFolder folder;
  CorpusOptions options = bare({folder.write("a", "xab--cde--f")});
  options.separator = "--";
  for (const bool begin : {false, true}) {
    for (const bool end : {false, true}) {
      options.begin_token = begin;
      options.end_token = end;
      const Corpus corpus(options);
      for (size_t document = 0; document < corpus.documents(); ++document) {
        const std::vector<int32_t> whole = corpus.read(document);
        for (int64_t first = 0; first <= corpus.length(document); ++first) {
          for (int64_t last = first; last <= corpus.length(document); ++last) {
            std::vector<int32_t> part;
            corpus.read_rows(document, {first, last}, part);
            EXPECT_EQ(part, std::vector(whole.begin() + first, whole.begin() + last))
                << first << " to " << last;
          }
        }
      }
    }
  }
}

TEST(Corpus, ASeparatorCutsAFileAndBelongsToNoDocument) {
  const TempFolder folder;
  CorpusOptions options = bare({folder.write("a", "ab--c----d--")});
  options.separator = "--";
  const Corpus corpus(options);
  ASSERT_EQ(corpus.documents(), 3u);  // the empty one between two separators is too short
  EXPECT_THAT(corpus.read(0), ElementsAre('a', 'b'));
  EXPECT_THAT(corpus.read(1), ElementsAre('c'));
  EXPECT_THAT(corpus.read(2), ElementsAre('d'));
  EXPECT_EQ(corpus.summary(),
            "3 documents, 4 tokens; skipped 0 binary, 0 unreadable, 1 too short, 0 too long files");
}

TEST(Corpus, LengthLimitsCountSpecialTokensAndSkipEmptyFiles) {
  const TempFolder folder;
  for (const char* text : {"", "1", "22", "333", "4444"})
    folder.write(std::string("f") + text, text);
  CorpusOptions options;
  options.paths = {folder.path()};
  options.min_length = 4;
  options.max_length = 5;
  const Corpus corpus(options);
  EXPECT_EQ(corpus.summary(),
            "2 documents, 9 tokens; skipped 0 binary, 0 unreadable, 2 too short, 1 too long files");
  options.min_length = 1;
  options.max_length.reset();
  EXPECT_THAT(Corpus(options).summary(), HasSubstr("4 documents, 18 tokens"));
}

TEST(Corpus, ABinaryFileIsRefusedByNameAndSkippedInAFolder) {
  const TempFolder folder;
  folder.write("text", "abc");
  const std::string binary = folder.write("binary", std::string("ab\0c", 4));
  EXPECT_THAT(Corpus(bare({folder.path()})).summary(),
              HasSubstr("1 documents, 3 tokens; skipped 1 binary"));
  EXPECT_THAT(Corpus(bare({folder.of("*")})).summary(), HasSubstr("skipped 1 binary"));
  const auto refused = ThrowsMessage<DataError>(AllOf(HasSubstr(binary), HasSubstr("NUL")));
  EXPECT_THAT([&] { Corpus{bare({binary})}; }, refused);
  EXPECT_THAT([&] { Corpus{bare({folder.path(), binary})}; }, refused);
}

TEST(Corpus, AnUnreadableFileIsRefusedByNameAndSkippedInAFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const TempFolder folder;
  folder.write("text", "abc");
  const std::string closed = folder.write("closed", "abc");
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  EXPECT_THAT(Corpus(bare({folder.path()})).summary(), HasSubstr("1 unreadable"));
  EXPECT_THAT([&] { Corpus{bare({closed})}; }, ThrowsMessage<DataError>(HasSubstr("unreadable")));
}

TEST(Corpus, WithoutDocumentsSaysWhatToDo) {
  const TempFolder folder;
  folder.write("empty", "");
  const auto refused =
      ThrowsMessage<DataError>(AllOf(HasSubstr("1 too short"), HasSubstr("data.paths")));
  EXPECT_THAT([&] { Corpus{bare({folder.path()})}; }, refused);
  EXPECT_THAT([] { Corpus{bare({})}; }, ThrowsMessage<DataError>(HasSubstr("0 documents")));
}

TEST(Corpus, RefusesToReadAFileThatChangedItsSize) {
  const TempFolder folder;
  const std::string path = folder.write("a", "abc");
  const Corpus corpus(bare({path}));
  folder.write("a", "abcd");
  EXPECT_THAT([&] { corpus.read(0); }, ThrowsMessage<DataError>(HasSubstr(path)));
}

TEST(Corpus, FingerprintFollowsNamesAndLengths) {
  const TempFolder folder;
  const CorpusOptions options = bare({folder.path()});
  folder.write("a", "abc");
  const uint64_t first = Corpus(options).fingerprint();
  folder.write("a", "xyz");
  EXPECT_EQ(Corpus(options).fingerprint(), first);
  folder.write("a", "abcd");
  EXPECT_NE(Corpus(options).fingerprint(), first);
  folder.write("a", "abc");
  std::filesystem::rename(folder.of("a"), folder.of("b"));
  EXPECT_NE(Corpus(options).fingerprint(), first);
}

}  // namespace
}  // namespace cadenza
