#include "planner/strategies/basp_groups.h"

#include <algorithm>
#include <optional>
#include <queue>

#include "planner/best_fit.h"
#include "planner/least_capacity.h"

namespace cadenza {
namespace {

/// None where the ranks do not suffice. `order`: longest first.
std::optional<std::vector<BaspGroup>> groups_within(const std::vector<Document>& documents,
                                                    const std::vector<int>& order, int ranks,
                                                    int64_t capacity) {
  std::vector<BaspGroup> groups;
  int64_t free = ranks;
  auto next = order.begin();
  for (; next != order.end(); ++next) {
    const int64_t length = documents[static_cast<size_t>(*next)].length;
    if (length <= capacity) break;
    const int64_t needed = (length + capacity - 1) / capacity;
    if (needed > free) return std::nullopt;
    free -= needed;
    groups.push_back({static_cast<int>(needed), length, {*next}});
  }
  const std::vector<int> rest(next, order.end());
  const auto bins = pack_best_fit(documents, rest, static_cast<int>(free), capacity);
  if (!bins) return std::nullopt;
  const size_t singles = groups.size();
  groups.resize(singles + static_cast<size_t>(free));
  for (size_t i = 0; i < rest.size(); ++i) {
    BaspGroup& group = groups[singles + static_cast<size_t>((*bins)[i])];
    group.documents.push_back(rest[i]);
    group.tokens += documents[static_cast<size_t>(rest[i])].length;
  }
  std::erase_if(groups, [](const BaspGroup& group) { return group.documents.empty(); });
  return groups;
}

/// Gives ranks that have no group to those whose ranks hold most tokens.
void give_away(int64_t ranks, std::vector<BaspGroup>& groups) {
  // Exact comparison of tokens / ranks; the earlier group where they are equal.
  const auto less = [&](size_t a, size_t b) {
    const int64_t at_a = groups[a].tokens * groups[b].ranks;
    const int64_t at_b = groups[b].tokens * groups[a].ranks;
    return at_a != at_b ? at_a < at_b : a > b;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(less)> fullest(less);
  for (size_t i = 0; i < groups.size(); ++i) fullest.push(i);
  for (; ranks > 0; --ranks) {
    const size_t group = fullest.top();
    fullest.pop();
    ++groups[group].ranks;
    fullest.push(group);
  }
}

}  // namespace

std::vector<BaspGroup> basp_groups(const std::vector<Document>& documents, int ranks) {
  if (documents.empty()) return {};
  const std::vector<int> order = longest_first(documents);
  const int64_t capacity = least_capacity(sure_capacity(documents, ranks), [&](int64_t tokens) {
    return groups_within(documents, order, ranks, tokens).has_value();
  });
  std::vector<BaspGroup> groups = *groups_within(documents, order, ranks, capacity);
  int64_t used = 0;
  for (const BaspGroup& group : groups) used += group.ranks;
  give_away(ranks - used, groups);
  return groups;
}

}  // namespace cadenza
