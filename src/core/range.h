#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>

namespace cadenza {

/// Half-open interval [begin, end) of tokens in document coordinates (or of rows, or of heads).
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(int64_t x) const { return begin <= x && x < end; }
  bool contains(Range other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Range&) const = default;
};

/// Where both are; possibly empty, never reversed.
inline Range intersect(Range a, Range b) {
  const Range both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? Range{both.begin, both.begin} : both;
}

inline std::ostream& operator<<(std::ostream& out, Range range) {
  return out << '[' << range.begin << ", " << range.end << ')';
}

}  // namespace cadenza
