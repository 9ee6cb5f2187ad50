#pragma once

#include <vector>

#include "core/plan.h"

namespace cadenza {

/// Joins neighbouring tasks of one server whose union is again one task, and orders all by
/// (document, q, kv). A kernel runs few large tasks faster than many small ones.
std::vector<Task> merge_tasks(std::vector<Task> tasks);

}  // namespace cadenza
