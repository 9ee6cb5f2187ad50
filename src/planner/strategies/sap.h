#pragma once

#include <vector>

#include "planner/strategy.h"

namespace cadenza {

/// Sequence-aware parallelism (SAP of the HSAP paper): contiguous shards, every query at home, keys
/// point to point from the ranks before it, only the rows that the documents' masks need. A rank
/// computes with its own keys in round 0, then with those of the nearest rank before it that has
/// any it needs, and so on: no round without work. Takes homes as they are. Cheap in bytes; the
/// work is as uneven as the documents.
Plan plan_sap(const PlanRequest& request);

/// The tasks of it, in rounds, for any homes.
std::vector<Task> sap_tasks(const Batch& batch);

}  // namespace cadenza
