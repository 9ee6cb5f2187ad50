#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/batch.h"
#include "core/cluster.h"

namespace cadenza {

/// How long each rank will compute and how many tokens it can still hold, while documents are given
/// to ranks. All choices are deterministic: lower ranks win ties.
class RankLoads {
 public:
  /// Ranks 0 .. ranks - 1 of the cluster, each with room for `capacity` tokens.
  RankLoads(const Cluster& cluster, int ranks, int64_t capacity);

  double speed(Rank rank) const { return entry(rank).speed; }
  double time(Rank rank) const { return entry(rank).time; }  // cost / speed
  int64_t room(Rank rank) const { return entry(rank).room; }
  double total_speed() const { return total_speed_; }
  double longest_time() const;

  void add(Rank rank, int64_t tokens, double cost);

  /// The rank with room for `tokens` on which work of `cost` would end first; nothing where no rank
  /// has that room. O(log ranks), and more where less loaded ranks have no room.
  std::optional<Rank> first_to_finish(int64_t tokens, double cost) const;
  /// The `count` least loaded of the ranks with room for `tokens`; fewer where there are not so
  /// many. O(count log ranks), and more where less loaded ranks have no room.
  std::vector<Rank> least_loaded(size_t count, int64_t tokens) const;
  /// The fewest ranks that together have room for `tokens`, roomiest first. Requires that all have.
  std::vector<Rank> roomiest(int64_t tokens) const;

 private:
  struct Entry {
    double time = 0;
    int64_t room = 0;
    double speed = 1;
  };

  const Entry& entry(Rank rank) const { return tree_[leaves_ + static_cast<size_t>(rank)]; }
  struct Search;
  void search(size_t node, size_t first_leaf, size_t leaves, Search& search) const;

  int ranks_;
  size_t leaves_;  // a power of two
  // A binary tree in place: the leaves are the ranks, a node above has the least time, the largest
  // room and the highest speed of those below it.
  std::vector<Entry> tree_;
  std::set<std::pair<int64_t, Rank>> by_room_;  // (-room, rank)
  double total_speed_ = 0;
};

}  // namespace cadenza
