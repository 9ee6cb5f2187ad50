#include "kernels/cpu/lane_keys.h"

#include <algorithm>

namespace cadenza::cpu {

void LaneKeys::set(const AttentionTask& task, int64_t first_token, int64_t first_head,
                   int64_t heads, int64_t lanes, Range limit) {
  any = {limit.end, limit.begin};
  all = limit;
  int64_t token = first_token, head = first_head;
  for (size_t lane = 0; lane < static_cast<size_t>(lanes); ++lane) {
    const int64_t first = std::max(limit.begin, token + task.lowest);
    const int64_t last = std::min(limit.end - 1, token + task.highest) + 1;
    const bool empty = first >= last;
    begin[lane] = empty ? limit.begin : first;
    end[lane] = empty ? limit.begin : last;
    all = {std::max(all.begin, begin[lane]), std::min(all.end, end[lane])};
    if (!empty) any = {std::min(any.begin, first), std::max(any.end, last)};
    if (++head == heads) head = 0, ++token;
  }
}

void LaneKeys::pad(int64_t lanes, int64_t panel_lanes) {
  const int64_t padded = (lanes + panel_lanes - 1) / panel_lanes * panel_lanes;
  const auto last = static_cast<size_t>(lanes - 1);
  for (size_t lane = last + 1; lane < static_cast<size_t>(padded); ++lane) {
    begin[lane] = begin[last];
    end[lane] = end[last];
  }
}

void LaneKeys::clear(int64_t lane) {
  begin[static_cast<size_t>(lane)] = end[static_cast<size_t>(lane)] = 0;
  all = {0, 0};
}

}  // namespace cadenza::cpu
