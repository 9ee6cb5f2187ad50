#pragma once

#include <future>
#include <optional>
#include <vector>

#include "comm/message.h"
#include "engine/agreed_batch.h"

namespace cadenza {

/// Makes the plans of the next step while this one runs: rank 0 plans on a thread of its own, since
/// floating point may differ between kinds of processor; every rank verifies them, and compiles its
/// own programs, on a thread of its own. Only two short exchanges, of the plans and of their
/// hashes, are on the step's path. All ranks call alike.
///
///   step t:  begin(lengths of t + 1) ... post() ... receive() ...   step t + 1:  take(lengths)
class PlanAhead {
 public:
  /// `settings` must outlive it.
  PlanAhead(Group& group, const PlanSettings& settings) : group_(group), settings_(settings) {}
  ~PlanAhead();

  /// Rank 0 begins to plan. What was begun before and not taken is dropped.
  void begin(const StepLengths& lengths);
  /// Rank 0 posts the plans to the others, when they are made. Others do nothing.
  void post();
  /// The plans arrive; verifying and compiling them begins. After post().
  void receive();

  /// A step's micro-batches: those begun with, if they are of the same lengths, else made now.
  /// Errors of the strategy come from here. All ranks compare hashes: PlanError naming a rank that
  /// holds other plans, before anything is exchanged by them.
  std::vector<AgreedBatch> take(const StepLengths& lengths);

 private:
  Deadline deadline() const { return Deadline::after_seconds(settings_.deadline_seconds); }
  void compare_hashes(const std::vector<AgreedBatch>& step);
  void forget();

  Group& group_;
  const PlanSettings& settings_;
  std::optional<StepLengths> begun_;
  bool posted_ = false, received_ = false;
  std::future<std::vector<MadePlans>> made_;  // on rank 0
  std::vector<PostedMessage> sent_;           // by rank 0
  std::future<std::vector<AgreedBatch>> agreed_;
};

}  // namespace cadenza
