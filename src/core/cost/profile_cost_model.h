#pragma once

#include "core/cost/profile.h"
#include "core/cost_model.h"

namespace cadenza {

/// Seconds by a profile, forward and backward together: their sum is interpolated, so that a
/// planner's many questions cost one search of the grid each. A piece counts as a rectangle of as
/// many query rows (trimmed) that see as many keys each as its rows do on average. Tasks of a
/// server run in one fused call: the sum of its tasks.
class ProfileCostModel final : public CostModel {
 public:
  explicit ProfileCostModel(Profile profile);
  const char* name() const override { return "profile"; }
  double task_cost(const Piece& piece) const override;
  const ExchangeCost* exchange() const override {
    return profile_.exchange ? &*profile_.exchange : nullptr;
  }
  bool extrapolates(const Piece& piece) const override;

  double forward_seconds(const Piece& piece) const;
  double backward_seconds(const Piece& piece) const;
  const Profile& profile() const { return profile_; }

 private:
  Profile profile_;
  AttentionGrid both_;
};

}  // namespace cadenza
