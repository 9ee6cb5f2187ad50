#include "program/home_layout.h"

#include <algorithm>

namespace cadenza {
namespace {

/// From the first to the last key that any server reads, by document; empty where none does.
std::vector<Range> read_keys(size_t documents, const std::vector<ServerNeeds>& needs) {
  std::vector<Range> keys(documents);
  for (const ServerNeeds& server : needs) {
    for (const NeededRows& need : server.kv) {
      Range& read = keys[static_cast<size_t>(need.document)];
      read = read.empty()
                 ? need.rows
                 : Range{std::min(read.begin, need.rows.begin), std::max(read.end, need.rows.end)};
    }
  }
  return keys;
}

}  // namespace

HomeLayout::HomeLayout(const Batch& batch, const std::vector<ServerNeeds>& needs)
    : parts_(batch.documents.size()), own_rows_(needs.size(), 0) {
  const std::vector<Range> read = read_keys(batch.documents.size(), needs);
  for (size_t d = 0; d < parts_.size(); ++d) {
    const Range queries = batch.documents[d].queries;
    for (const Shard& shard : batch.documents[d].shards) {
      const Range before =
          intersect(shard.rows, {read[d].begin, std::min(read[d].end, queries.begin)});
      const Range after =
          intersect(shard.rows, {std::max(read[d].begin, queries.end), read[d].end});
      const Range own = intersect(shard.rows, queries);
      if (!before.empty()) parts_[d].push_back({before, shard.home, 0, true});
      if (!own.empty()) parts_[d].push_back({own, shard.home, 0, false});
      if (!after.empty()) parts_[d].push_back({after, shard.home, 0, true});
    }
  }
  const auto place = [&](bool carried, std::vector<int64_t>& rows) {
    for (auto& parts : parts_) {
      for (Part& part : parts) {
        if (part.carried != carried) continue;
        int64_t& next = rows[static_cast<size_t>(part.home)];
        part.first_row = next;
        next += part.rows.size();
      }
    }
  };
  place(false, own_rows_);
  kv_rows_ = own_rows_;
  place(true, kv_rows_);
}

std::vector<HomeLayout::Part>::const_iterator HomeLayout::part_from(int document,
                                                                    int64_t row) const {
  return std::partition_point(parts(document).begin(), parts(document).end(),
                              [&](const Part& part) { return part.rows.end <= row; });
}

}  // namespace cadenza
