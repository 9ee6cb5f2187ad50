#include "program/row_layout.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace cadenza {

RowLayout::RowLayout(const std::vector<NeededRows>& needed) {
  for (const NeededRows& need : needed) runs_.push_back({need.document, need.rows, 0});
  std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
    return std::tie(a.document, a.rows.begin) < std::tie(b.document, b.rows.begin);
  });
  size_t kept = 0;
  for (const Run& run : runs_) {
    Run* last = kept == 0 ? nullptr : &runs_[kept - 1];
    if (last != nullptr && last->document == run.document && run.rows.begin <= last->rows.end) {
      last->rows.end = std::max(last->rows.end, run.rows.end);
    } else {
      runs_[kept++] = run;
    }
  }
  runs_.resize(kept);
  for (Run& run : runs_) {
    run.first_row = rows_;
    rows_ += run.rows.size();
  }
}

Range RowLayout::locate(int document, Range rows) const {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), std::make_pair(document, rows.begin),
      [](const std::pair<int, int64_t>& key, const Run& run) {
        return std::tie(key.first, key.second) < std::tie(run.document, run.rows.begin);
      });
  CADENZA_CHECK(after != runs_.begin(), "document ", document, " rows ", rows);
  const Run& run = *std::prev(after);
  CADENZA_CHECK(run.document == document && run.rows.contains(rows), "document ", document,
                " rows ", rows);
  const int64_t first = run.first_row + rows.begin - run.rows.begin;
  return {first, first + rows.size()};
}

}  // namespace cadenza
