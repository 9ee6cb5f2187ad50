#include "core/traffic.h"

#include <algorithm>
#include <numeric>

#include "core/needed_rows.h"

namespace cadenza {
namespace {

// Answers how many rows of a range of one document live on a rank, in O(log shards), however the
// document is scattered.
class HomeRows {
 public:
  explicit HomeRows(const Document& document) : shards_(document.shards) {
    std::sort(shards_.begin(), shards_.end(), before);
    rows_before_.reserve(shards_.size() + 1);
    rows_before_.push_back(0);
    for (const Shard& shard : shards_) {
      rows_before_.push_back(rows_before_.back() + shard.rows.size());
    }
  }

  int64_t count(Range rows, Rank home) const {
    return count_below(rows.end, home) - count_below(rows.begin, home);
  }

 private:
  static bool before(const Shard& a, const Shard& b) {
    return std::pair(a.home, a.rows.begin) < std::pair(b.home, b.rows.begin);
  }

  // Rows of all ranks below `home`, and of `home` below `row`: differences of it are what count()
  // wants.
  int64_t count_below(int64_t row, Rank home) const {
    const auto after =
        std::lower_bound(shards_.begin(), shards_.end(), Shard{{row, row}, home}, before);
    const auto index = static_cast<size_t>(after - shards_.begin());
    int64_t rows = rows_before_[index];
    if (index > 0 && shards_[index - 1].home == home) {
      rows -= std::max<int64_t>(0, shards_[index - 1].rows.end - row);
    }
    return rows;
  }

  std::vector<Shard> shards_;         // ordered by (home, begin)
  std::vector<int64_t> rows_before_;  // rows of the shards before each of them
};

// Bytes of the needed rows whose home is not `server`.
int64_t foreign_bytes(const std::vector<NeededRows>& needs, const std::vector<HomeRows>& homes,
                      Rank server, int64_t bytes_per_row_and_head) {
  int64_t bytes = 0;
  for (const NeededRows& need : needs) {
    const int64_t here = homes[static_cast<size_t>(need.document)].count(need.rows, server);
    bytes += (need.rows.size() - here) * need.heads.size() * bytes_per_row_and_head;
  }
  return bytes;
}

}  // namespace

Traffic forward_traffic(const Plan& plan, const ModelShape& shape) {
  const std::vector<ServerNeeds> needs = needed_rows(plan, shape.heads, shape.kv_heads);
  std::vector<HomeRows> homes;
  homes.reserve(plan.batch.documents.size());
  for (const Document& document : plan.batch.documents) homes.emplace_back(document);

  const int64_t head_bytes = shape.head_dim * dtype_bytes(shape.dtype);
  Traffic traffic;
  for (size_t i = 0; i < needs.size(); ++i) {
    const auto server = static_cast<Rank>(i);
    const int64_t q = foreign_bytes(needs[i].q, homes, server, head_bytes);
    const int64_t kv = foreign_bytes(needs[i].kv, homes, server, 2 * head_bytes);
    traffic.q_bytes += q;
    traffic.kv_bytes += kv;
    traffic.o_bytes += q;  // one O row, as wide as its Q row, goes back for each
    traffic.recv_bytes_per_server.push_back(q + kv);
    traffic.max_recv_bytes = std::max(traffic.max_recv_bytes, q + kv);
  }
  return traffic;
}

}  // namespace cadenza
