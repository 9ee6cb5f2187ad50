#pragma once

#include <cstdint>
#include <vector>

#include "core/needed_rows.h"

namespace cadenza {

/// Where a server keeps the rows that it needs: contiguous by (document, position), each once, so
/// that any range of rows that one task reads is one run of the buffer.
class RowLayout {
 public:
  /// O(n log n). Overlapping ranges (of different heads) share their rows.
  explicit RowLayout(const std::vector<NeededRows>& needed);

  int64_t rows() const { return rows_; }
  /// Rows of the buffer that hold `rows` of `document`, which must be laid out without gap.
  Range locate(int document, Range rows) const;

 private:
  struct Run {
    int document;
    Range rows;         // document coordinates
    int64_t first_row;  // in the buffer
  };
  std::vector<Run> runs_;  // by (document, rows.begin), disjoint, not touching
  int64_t rows_ = 0;
};

}  // namespace cadenza
