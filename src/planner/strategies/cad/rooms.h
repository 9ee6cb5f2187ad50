#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace cadenza {

/// Servers ordered by room (cap − load, negative for a surplus), then by rank. A sorted array: with
/// thousands of servers a change still moves only a few cache lines' worth of entries on average,
/// and every question is a binary search.
class RoomOrder {
 public:
  using Entry = std::pair<double, Rank>;

  void insert(double room, Rank server) {
    const Entry entry{room, server};
    entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), entry);
  }

  void change(double from, double to, Rank server) {
    const auto old = std::lower_bound(entries_.begin(), entries_.end(), Entry{from, server});
    const Entry entry{to, server};
    if (to > from) {
      const auto place = std::lower_bound(old, entries_.end(), entry);
      std::move(old + 1, place, old);
      *(place - 1) = entry;
    } else {
      const auto place = std::lower_bound(entries_.begin(), old, entry);
      std::move_backward(place, old, old + 1);
      *place = entry;
    }
  }

  const Entry& least() const { return entries_.front(); }
  const Entry& most() const { return entries_.back(); }
  /// Index of the first server with at least this room.
  size_t first_with(double room) const {
    return static_cast<size_t>(std::lower_bound(entries_.begin(), entries_.end(), Entry{room, 0}) -
                               entries_.begin());
  }
  size_t size() const { return entries_.size(); }
  const Entry& operator[](size_t i) const { return entries_[i]; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cadenza
