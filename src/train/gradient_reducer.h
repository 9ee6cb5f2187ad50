#pragma once

#include <memory>
#include <span>

#include "comm/group.h"
#include "core/range.h"

namespace cadenza {

/// How gradients of all ranks become one update. Written so that a reduce-scatter with sharded
/// optimizer states fits: after reduce, a rank owns a part of the flat buffers, updates it, and
/// publish makes the parameters whole again.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  /// Sums the flat gradients over ranks. Returns the range of elements that holds the sum here and
  /// that this rank must update.
  virtual Range reduce(std::span<float> gradients, Deadline deadline) = 0;
  /// Sum over ranks of a value that each computed from its owned range.
  virtual double sum_over_owners(double value, Deadline deadline) = 0;
  /// Makes all ranks' parameters equal after each has updated what it owns.
  virtual void publish(std::span<float> parameters, Deadline deadline) = 0;
};

/// Every rank owns everything: all-reduce, equal bits everywhere, nothing to publish.
std::unique_ptr<GradientReducer> make_all_reduce(Group& group);

}  // namespace cadenza
