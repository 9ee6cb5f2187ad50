#include "planner/strategies/fcp_groups.h"

#include <set>
#include <utility>

#include "planner/best_fit.h"

namespace cadenza {

AtomicGroups pack_atomic_groups(const std::vector<Document>& documents, int ranks,
                                int64_t capacity) {
  AtomicGroups packed;
  std::set<std::pair<int64_t, size_t>> rooms;  // (room, group)
  int64_t ranks_left = ranks;
  const auto put = [&](int document, int64_t length, size_t group, int64_t room) {
    packed.groups[group].documents.push_back(document);
    packed.groups[group].tokens += length;
    rooms.emplace(room - length, group);
  };
  for (const int document : longest_first(documents)) {
    const int64_t length = documents[static_cast<size_t>(document)].length;
    const auto best = rooms.lower_bound({length, 0});
    if (best != rooms.end()) {
      const auto [room, group] = *best;
      rooms.erase(best);
      put(document, length, group, room);
      continue;
    }
    const int64_t needed = (length + capacity - 1) / capacity;
    if (needed > ranks_left) {
      packed.left_over.push_back(document);
      continue;
    }
    ranks_left -= needed;
    packed.groups.push_back(
        {.documents = {}, .tokens = 0, .least_ranks = static_cast<int>(needed)});
    put(document, length, packed.groups.size() - 1, needed * capacity);
  }
  return packed;
}

}  // namespace cadenza
