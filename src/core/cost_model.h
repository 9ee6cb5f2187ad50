#pragma once

#include <cstdint>

#include "core/cost/exchange_cost.h"
#include "core/piece.h"

namespace cadenza {

/// Predicts how long a server computes a task. Units are the model's own, the same for all tasks:
/// seconds for a profile, pairs where nothing was measured. Only ratios matter to a planner.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual const char* name() const = 0;
  /// Cost of one piece for all heads; 0 for a piece without pairs.
  virtual double task_cost(const Piece& piece) const = 0;
  /// How long rows travel, in the same unit; null where that is not known.
  virtual const ExchangeCost* exchange() const { return nullptr; }
  /// True where that cost lies outside of what was measured.
  virtual bool extrapolates(const Piece&) const { return false; }
};

/// Counts pairs: exact for a kernel whose speed does not depend on the task's shape.
class PairsCostModel final : public CostModel {
 public:
  const char* name() const override { return "pairs"; }
  double task_cost(const Piece& piece) const override {
    return static_cast<double>(count_pairs(piece));
  }
};

}  // namespace cadenza
