#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/range.h"

namespace cadenza {

/// Documents that can be read in parts: their lengths are known, their tokens are read when a plan
/// has said which rank needs which of them. Constant once made; the same on every rank.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual size_t documents() const = 0;
  /// Tokens, >= 1.
  virtual int64_t length(size_t document) const = 0;
  /// Where it came from, for messages.
  virtual std::string name(size_t document) const = 0;
  /// Appends the ids of these tokens. DataError when the file has changed.
  virtual void read_rows(size_t document, Range tokens, std::vector<int32_t>& ids) const = 0;
  /// Whether the model is to learn to predict this token from those before it. Instruction data
  /// says no to the tokens of a prompt.
  virtual bool is_target(size_t /*document*/, int64_t /*token*/) const { return true; }
  /// How many tokens of the range are.
  virtual int64_t targets(size_t /*document*/, Range tokens) const { return tokens.size(); }
};

/// A document, or a part of one, that has not been read. Its positions count from its own first
/// token.
struct DocumentHandle {
  size_t document = 0;  // of the source
  Range tokens;         // never empty

  bool operator==(const DocumentHandle&) const = default;
};

/// "path", or "path, from token 17" for a part.
std::string name_of(const TokenSource& source, const DocumentHandle& handle);

/// Tokens of the handle that are predicted: the first has nothing before it.
int64_t targets_of(const TokenSource& source, const DocumentHandle& handle);

/// The documents of one micro-batch; every token of it belongs to a document, there is no padding.
struct DocumentBatch {
  std::vector<DocumentHandle> documents;

  int64_t tokens() const;
  int64_t targets(const TokenSource& source) const;
  std::vector<int64_t> lengths() const;
};

}  // namespace cadenza
