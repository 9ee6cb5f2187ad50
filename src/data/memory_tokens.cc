#include "data/memory_tokens.h"

namespace cadenza {

void MemoryTokens::read_rows(size_t document, Range tokens, std::vector<int32_t>& ids) const {
  const std::vector<int32_t>& all = documents_.at(document).ids;
  ids.insert(ids.end(), all.begin() + tokens.begin, all.begin() + tokens.end);
}

bool MemoryTokens::is_target(size_t document, int64_t token) const {
  const std::vector<bool>& targets = documents_.at(document).targets;
  return targets.empty() || targets.at(static_cast<size_t>(token));
}

int64_t MemoryTokens::targets(size_t document, Range tokens) const {
  int64_t count = 0;
  for (int64_t token = tokens.begin; token < tokens.end; ++token)
    count += is_target(document, token) ? 1 : 0;
  return count;
}

}  // namespace cadenza
