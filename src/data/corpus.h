#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/token_source.h"

namespace cadenza {

/// The byte-level vocabulary: ids 0 .. 255 are bytes.
struct ByteVocabulary {
  static constexpr int32_t kBeginOfDocument = 256;
  static constexpr int32_t kEndOfDocument = 257;
  static constexpr int64_t kSize = 258;
};

struct CorpusOptions {
  std::vector<std::string> paths;  // files, folders (walked) and globs (*, ?, ** for any depth)
  std::int64_t min_length =
      1;  // tokens, special tokens included; shorter documents are skipped and counted
  std::optional<int64_t> max_length;  // longer documents are skipped and counted
  std::string separator;              // splits a file into documents where not empty
  bool begin_token = true;
  bool end_token = true;
};

/// One document before it is read: a byte range of a file.
struct DocumentSource {
  std::string path;
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  int64_t tokens = 0;      // special tokens included
  int64_t file_bytes = 0;  // of the whole file when it was listed
};

/// The documents of a corpus, in an order that depends on names only (never on the file system's),
/// the same on every rank.
class Corpus final : public TokenSource {
 public:
  /// DataError: a path that does not exist or a glob that matches nothing, a file named explicitly
  /// that is binary (contains NUL), a corpus without documents. Binary and unreadable files found
  /// by walking a folder or by a glob are skipped and counted.
  explicit Corpus(const CorpusOptions& options);

  const std::vector<DocumentSource>& sources() const { return documents_; }
  size_t documents() const override { return documents_.size(); }
  int64_t length(size_t document) const override { return documents_.at(document).tokens; }
  std::string name(size_t document) const override;
  /// DataError when the file has changed size since it was listed.
  void read_rows(size_t document, Range tokens, std::vector<int32_t>& ids) const override;
  /// All tokens of one document.
  std::vector<int32_t> read(size_t document) const;
  /// "1234 documents, 5678901 tokens; skipped 3 binary, 2 unreadable, 0 too short, 0 too long
  /// files"
  std::string summary() const;
  /// Changes when a file's name or length changes.
  uint64_t fingerprint() const;

 private:
  void take(DocumentSource source);

  CorpusOptions options_;
  std::vector<DocumentSource> documents_;
  int64_t skipped_binary_ = 0, skipped_unreadable_ = 0, skipped_short_ = 0, skipped_long_ = 0;
};

}  // namespace cadenza
