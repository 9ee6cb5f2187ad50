#include "data/token_source.h"

#include "base/cat.h"

namespace cadenza {

std::string name_of(const TokenSource& source, const DocumentHandle& handle) {
  const std::string name = source.name(handle.document);
  return handle.tokens.begin == 0 ? name : cat(name, ", from token ", handle.tokens.begin);
}

int64_t targets_of(const TokenSource& source, const DocumentHandle& handle) {
  return source.targets(handle.document, {handle.tokens.begin + 1, handle.tokens.end});
}

int64_t DocumentBatch::tokens() const {
  int64_t sum = 0;
  for (const DocumentHandle& handle : documents) sum += handle.tokens.size();
  return sum;
}

int64_t DocumentBatch::targets(const TokenSource& source) const {
  int64_t sum = 0;
  for (const DocumentHandle& handle : documents) sum += targets_of(source, handle);
  return sum;
}

std::vector<int64_t> DocumentBatch::lengths() const {
  std::vector<int64_t> lengths;
  for (const DocumentHandle& handle : documents) lengths.push_back(handle.tokens.size());
  return lengths;
}

}  // namespace cadenza
