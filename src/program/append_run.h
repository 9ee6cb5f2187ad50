#pragma once

#include <vector>

#include "core/row_run.h"

namespace cadenza {

/// Appends, growing the last run where the new one continues it. The order of packed rows stays the
/// same.
inline void append_run(std::vector<RowRun>& runs, const RowRun& run) {
  if (!runs.empty() && runs.back().heads == run.heads && runs.back().rows.end == run.rows.begin) {
    runs.back().rows.end = run.rows.end;
  } else {
    runs.push_back(run);
  }
}

}  // namespace cadenza
