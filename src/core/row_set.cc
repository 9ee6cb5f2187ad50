#include "core/row_set.h"

#include <algorithm>
#include <iterator>

namespace cadenza {

std::vector<Range> RowSet::add(Range rows) {
  std::vector<Range> missing;
  if (rows.empty()) return missing;
  auto at = ends_.upper_bound(rows.begin);
  if (at != ends_.begin() && std::prev(at)->second >= rows.begin) --at;
  Range all = rows;
  int64_t next = rows.begin;
  while (at != ends_.end() && at->first <= rows.end) {
    if (at->first > next) missing.push_back({next, at->first});
    next = std::max(next, at->second);
    all = {std::min(all.begin, at->first), std::max(all.end, at->second)};
    at = ends_.erase(at);
  }
  if (next < rows.end) missing.push_back({next, rows.end});
  ends_[all.begin] = all.end;
  return missing;
}

}  // namespace cadenza
