#pragma once

#include <utility>

#include "data/token_source.h"

namespace cadenza {

/// Documents that are in memory already.
class MemoryTokens final : public TokenSource {
 public:
  struct Document {
    std::vector<int32_t> ids;
    std::string name = {};
    std::vector<bool> targets = {};  // by token; empty: all are
  };

  MemoryTokens() = default;
  explicit MemoryTokens(std::vector<Document> documents) : documents_(std::move(documents)) {}
  void add(Document document) { documents_.push_back(std::move(document)); }

  size_t documents() const override { return documents_.size(); }
  int64_t length(size_t document) const override {
    return static_cast<int64_t>(documents_.at(document).ids.size());
  }
  std::string name(size_t document) const override { return documents_.at(document).name; }
  void read_rows(size_t document, Range tokens, std::vector<int32_t>& ids) const override;
  bool is_target(size_t document, int64_t token) const override;
  int64_t targets(size_t document, Range tokens) const override;

  DocumentHandle whole(size_t document) const { return {document, {0, length(document)}}; }

 private:
  std::vector<Document> documents_;
};

}  // namespace cadenza
