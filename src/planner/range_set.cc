#include "planner/range_set.h"

#include <algorithm>
#include <utility>

namespace cadenza {

void RangeSet::add(Range range) {
  if (range.empty()) return;
  auto first = ranges_.begin();
  while (first != ranges_.end() && first->end < range.begin) ++first;
  auto last = first;  // one past the ranges that touch the new one
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
  }
  ranges_.insert(ranges_.erase(first, last), range);
}

void RangeSet::remove(Range range) {
  if (range.empty()) return;
  std::vector<Range> rest;
  for (const Range& r : ranges_) {
    const Range before{r.begin, std::min(r.end, range.begin)};
    const Range after{std::max(r.begin, range.end), r.end};
    if (!before.empty()) rest.push_back(before);
    if (!after.empty()) rest.push_back(after);
  }
  ranges_ = std::move(rest);
}

int64_t RangeSet::missing(Range range) const {
  int64_t count = range.size();
  for (const Range& r : ranges_) count -= intersect(r, range).size();
  return count;
}

int64_t RangeSet::size() const {
  int64_t count = 0;
  for (const Range& r : ranges_) count += r.size();
  return count;
}

}  // namespace cadenza
