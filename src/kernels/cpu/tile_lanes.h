#pragma once

#include <cstdint>

#include "base/rows_view.h"
#include "core/range.h"

namespace cadenza::cpu {

/// The lanes of one tile: (row, head) pairs, heads of a group first, from any of them on.
struct TileLanes {
  int64_t first_row = 0;   // of the query buffers
  int64_t first_head = 0;  // within `heads`
  Range heads;
  int64_t count = 0;

  /// Calls body(lane, row, head) for every lane, `head` of all heads.
  template <typename Body>
  void for_each(const Body& body) const {
    int64_t row = first_row, head = first_head;
    for (int64_t lane = 0; lane < count; ++lane) {
      body(lane, row, heads.begin + head);
      if (++head == heads.size()) head = 0, ++row;
    }
  }
};

/// Where number 0 of (row, head) lies.
inline char* address(const RowsView& view, int64_t row, int64_t head) {
  return static_cast<char*>(view.data) +
         (row * view.row_stride + head * view.head_stride) * dtype_bytes(view.dtype);
}

}  // namespace cadenza::cpu
