#include "planner/rank_loads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "base/check.h"

namespace cadenza {

RankLoads::RankLoads(const Cluster& cluster, int ranks, int64_t capacity)
    : ranks_(ranks), leaves_(std::bit_ceil(static_cast<size_t>(ranks))) {
  // What is no rank has no room.
  tree_.assign(2 * leaves_, {.time = 0, .room = -1, .speed = 1});
  for (Rank rank = 0; rank < ranks; ++rank) {
    const double speed = cluster.speed(rank);
    tree_[leaves_ + static_cast<size_t>(rank)] = {.time = 0, .room = capacity, .speed = speed};
    by_room_.emplace(-capacity, rank);
    total_speed_ += speed;
  }
  for (size_t node = leaves_ - 1; node > 0; --node) {
    const Entry &a = tree_[2 * node], &b = tree_[2 * node + 1];
    tree_[node] = {
        .time = 0, .room = std::max(a.room, b.room), .speed = std::max(a.speed, b.speed)};
  }
}

double RankLoads::longest_time() const {
  double longest = 0;
  for (Rank rank = 0; rank < ranks_; ++rank) longest = std::max(longest, time(rank));
  return longest;
}

void RankLoads::add(Rank rank, int64_t tokens, double cost) {
  size_t node = leaves_ + static_cast<size_t>(rank);
  Entry& leaf = tree_[node];
  CADENZA_CHECK(tokens <= leaf.room, "rank ", rank, ": ", tokens, " into ", leaf.room);
  leaf.time += cost / leaf.speed;
  if (tokens > 0) {
    by_room_.erase({-leaf.room, rank});
    leaf.room -= tokens;
    by_room_.emplace(-leaf.room, rank);
  }
  for (node /= 2; node > 0; node /= 2) {
    const Entry &a = tree_[2 * node], &b = tree_[2 * node + 1];
    tree_[node].time = std::min(a.time, b.time);
    tree_[node].room = std::max(a.room, b.room);
  }
}

struct RankLoads::Search {
  int64_t tokens;
  double cost;
  std::pair<double, size_t> found = {std::numeric_limits<double>::infinity(), 0};  // end, leaf
};

/// Branch and bound: nothing below a node has room or ends earlier unless the node says so. The
/// less loaded half first, which mostly leaves nothing to look for in the other.
void RankLoads::search(size_t node, size_t first_leaf, size_t leaves, Search& search) const {
  const Entry& entry = tree_[node];
  const std::pair bound(entry.time + search.cost / entry.speed, first_leaf);
  if (entry.room < search.tokens || bound >= search.found) return;
  if (leaves == 1) {
    search.found = bound;
    return;
  }
  const size_t half = leaves / 2, left = 2 * node, right = left + 1;
  const bool right_first = tree_[right].time < tree_[left].time;
  if (right_first) this->search(right, first_leaf + half, half, search);
  this->search(left, first_leaf, half, search);
  if (!right_first) this->search(right, first_leaf + half, half, search);
}

std::optional<Rank> RankLoads::first_to_finish(int64_t tokens, double cost) const {
  Search search{.tokens = tokens, .cost = cost};
  this->search(1, 0, leaves_, search);
  if (std::isinf(search.found.first)) return std::nullopt;
  return static_cast<Rank>(search.found.second);
}

/// Best first: of all nodes seen, the least loaded is opened next, so ranks come in their order.
std::vector<Rank> RankLoads::least_loaded(size_t count, int64_t tokens) const {
  struct Seen {
    double time;
    size_t first_leaf, node, leaves;
    bool operator>(const Seen& other) const {
      return std::pair(time, first_leaf) > std::pair(other.time, other.first_leaf);
    }
  };
  std::priority_queue<Seen, std::vector<Seen>, std::greater<>> seen;
  const auto see = [&](size_t node, size_t first_leaf, size_t leaves) {
    if (tree_[node].room >= tokens) seen.push({tree_[node].time, first_leaf, node, leaves});
  };
  std::vector<Rank> ranks;
  see(1, 0, leaves_);
  while (!seen.empty() && ranks.size() < count) {
    const Seen next = seen.top();
    seen.pop();
    if (next.leaves == 1) {
      ranks.push_back(static_cast<Rank>(next.first_leaf));
      continue;
    }
    const size_t half = next.leaves / 2;
    see(2 * next.node, next.first_leaf, half);
    see(2 * next.node + 1, next.first_leaf + half, half);
  }
  return ranks;
}

std::vector<Rank> RankLoads::roomiest(int64_t tokens) const {
  std::vector<Rank> ranks;
  for (auto next = by_room_.begin(); tokens > 0; ++next) {
    CADENZA_CHECK(next != by_room_.end(), "no room for ", tokens, " tokens");
    ranks.push_back(next->second);
    tokens += next->first;
  }
  return ranks;
}

}  // namespace cadenza
