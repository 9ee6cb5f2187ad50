#include "planner/best_fit.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace cadenza {

std::vector<int> longest_first(const std::vector<Document>& documents) {
  std::vector<int> order(documents.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return documents[static_cast<size_t>(a)].length > documents[static_cast<size_t>(b)].length;
  });
  return order;
}

std::optional<std::vector<int>> pack_best_fit(const std::vector<Document>& documents,
                                              const std::vector<int>& order, int bins,
                                              int64_t capacity) {
  std::set<std::pair<int64_t, int>> rooms;  // (tokens of room, bin)
  for (int bin = 0; bin < bins; ++bin) rooms.insert({capacity, bin});
  std::vector<int> bin_of;
  bin_of.reserve(order.size());
  for (const int document : order) {
    const int64_t length = documents[static_cast<size_t>(document)].length;
    const auto best = rooms.lower_bound({length, 0});
    if (best == rooms.end()) return std::nullopt;
    auto room = rooms.extract(best);
    bin_of.push_back(room.value().second);
    room.value().first -= length;
    rooms.insert(std::move(room));
  }
  return bin_of;
}

int64_t sure_capacity(const std::vector<Document>& documents, int bins) {
  int64_t tokens = 0, longest = 0;
  for (const Document& document : documents) {
    tokens += document.length;
    longest = std::max(longest, document.length);
  }
  return longest + (tokens + bins - 1) / bins;
}

}  // namespace cadenza
