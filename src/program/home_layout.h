#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.h"
#include "core/needed_rows.h"

namespace cadenza {

/// Where homes keep the rows of one plan: first the rank's own rows, those inside the documents'
/// queries, in the order of local_shards(); behind them, in buffers of K and V only, the rows
/// outside of the queries that some server reads. Those belong to the other nano-batch and are
/// carried over from it.
class HomeLayout {
 public:
  /// A part of a shard, whole rows of one home's buffers.
  struct Part {
    Range rows;  // document coordinates
    Rank home = 0;
    int64_t first_row = 0;  // of rows.begin, in the home's buffers
    bool carried = false;
  };

  HomeLayout(const Batch& batch, const std::vector<ServerNeeds>& needs);

  /// In order, without overlap. Rows that nobody reads and that are not in the queries are left
  /// out.
  const std::vector<Part>& parts(int document) const {
    return parts_[static_cast<size_t>(document)];
  }
  /// Calls body(part, rows) for the parts of `rows`, in order.
  template <typename Body>
  void for_parts(int document, Range rows, const Body& body) const {
    auto part = part_from(document, rows.begin);
    for (; part != parts(document).end() && part->rows.begin < rows.end; ++part)
      body(*part, intersect(rows, part->rows));
  }
  /// Rows of the home's buffers that hold these of the part.
  static Range rows_in(const Part& part, Range rows) {
    const int64_t first = part.first_row + rows.begin - part.rows.begin;
    return {first, first + rows.size()};
  }

  int64_t own_rows(Rank rank) const { return own_rows_[static_cast<size_t>(rank)]; }
  /// Own and carried.
  int64_t kv_rows(Rank rank) const { return kv_rows_[static_cast<size_t>(rank)]; }

 private:
  /// The first part that ends after `row`.
  std::vector<Part>::const_iterator part_from(int document, int64_t row) const;

  std::vector<std::vector<Part>> parts_;  // by document
  std::vector<int64_t> own_rows_, kv_rows_;
};

}  // namespace cadenza
