#pragma once

#include "core/range.h"

namespace cadenza {

/// A run of neighbouring rows × neighbouring heads of a local buffer: the unit in which rows are
/// packed.
struct RowRun {
  Range rows;   // rows of the buffer
  Range heads;  // query heads in Q-like buffers, kv heads in K- and V-like ones

  bool operator==(const RowRun&) const = default;
};

}  // namespace cadenza
