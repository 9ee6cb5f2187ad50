#pragma once

#include <cstdint>

#include "core/plan.h"

namespace cadenza {

/// A plan proved to compute its batch exactly. Only verify_plan makes one; runtime and simulator
/// accept nothing else.
class VerifiedPlan {
 public:
  const Plan& plan() const { return plan_; }
  uint64_t hash() const { return hash_; }

 private:
  friend VerifiedPlan verify_plan(Plan plan);
  explicit VerifiedPlan(Plan plan);

  Plan plan_;
  uint64_t hash_ = 0;
};

/// Proves, by exact geometry and not by sampling, that every (q, k, query head) that the masks
/// allow is in exactly one task and no other triple is in any. Time O(n log n) in tasks and mask
/// pieces (times the number of distinct head ranges of a document, where tasks split heads). Throws
/// PlanError naming document, q and kv range, and the tasks, when it fails.
///
/// How: every task is a trapezoid (its keys at query q are an interval whose ends move by 0 or 1 a
/// row). A sweep over q keeps the active trapezoids in key order; if two meet, two neighbours meet
/// first, so only neighbours are compared (Shamos and Hoey, 1976). Tasks that lie inside the mask,
/// do not meet, and have as many pairs as the mask cover it.
VerifiedPlan verify_plan(Plan plan);

}  // namespace cadenza
