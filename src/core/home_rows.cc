#include "core/home_rows.h"

#include <algorithm>
#include <utility>

namespace cadenza {
namespace {

bool before(const Shard& a, const Shard& b) {
  return std::pair(a.home, a.rows.begin) < std::pair(b.home, b.rows.begin);
}

}  // namespace

HomeRows::HomeRows(std::vector<Shard> shards) : shards_(std::move(shards)) {
  std::sort(shards_.begin(), shards_.end(), before);
  rows_before_.reserve(shards_.size() + 1);
  rows_before_.push_back(0);
  for (const Shard& shard : shards_) {
    rows_before_.push_back(rows_before_.back() + shard.rows.size());
  }
}

int64_t HomeRows::count(Range rows, Rank home) const {
  return count_below(rows.end, home) - count_below(rows.begin, home);
}

int64_t HomeRows::count_below(int64_t row, Rank home) const {
  const auto after =
      std::lower_bound(shards_.begin(), shards_.end(), Shard{{row, row}, home}, before);
  const auto index = static_cast<size_t>(after - shards_.begin());
  int64_t rows = rows_before_[index];
  if (index > 0 && shards_[index - 1].home == home) {
    rows -= std::max<int64_t>(0, shards_[index - 1].rows.end - row);
  }
  return rows;
}

}  // namespace cadenza
