#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "core/verify_plan.h"
#include "planner/strategy.h"

namespace cadenza {

/// What one strategy made of a request: a plan, proved; or why there is none.
struct PlanOutcome {
  std::string strategy;
  std::optional<VerifiedPlan> plan;
  double plan_ms = 0;   // the strategy alone
  std::string refused;  // "not applicable: why", "needs capacity X"; empty if there is a plan
};

/// Plans and proves. Where `others_follow`, a strategy that cannot says so in the outcome; alone,
/// it throws.
PlanOutcome plan_and_prove(const Strategy& strategy, const PlanRequest& request,
                           bool others_follow);

/// Everything that is reported of it, one JSON object: what was asked, and balance, bytes and time;
/// or "refused".
Json outcome_to_json(const std::string& batch, const PlanRequest& request,
                     const PlanOutcome& outcome);

/// "cad"; of a nano-batch "cad A" or "cad B".
std::string title_of(const Json& outcome);

/// An SVG picture of these objects: a bar of predicted attention for each server. ConfigError if
/// none of them has a plan with work.
std::string outcomes_to_picture(const std::vector<Json>& outcomes);

/// A row for each of these objects, and a heading with what is common to all.
std::string outcomes_to_text(const std::vector<Json>& outcomes, bool nodes);

}  // namespace cadenza
