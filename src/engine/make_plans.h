#pragma once

#include <string>
#include <vector>

#include "core/plan.h"
#include "engine/plan_settings.h"

namespace cadenza {

/// Plans of one nano-batch, by kind of layer, with the same homes in all, and its documents by
/// index in the micro-batch.
struct NanoBatchPlans {
  std::vector<Plan> plans;
  std::vector<int> documents;
};

/// The strategy's plans of one micro-batch: one nano-batch under the plain schedule, two under
/// ping-pong.
struct MadePlans {
  std::vector<NanoBatchPlans> nano_batches;
  double seconds = 0;  // the strategy alone
};

/// A pure function of the documents' lengths, so that it may run beside a step.
///
/// A strategy that is given homes gets even ones: what is not attention then takes as long on every
/// rank. Kinds of layers after the first keep the homes of the first; if the strategy places
/// documents, their queries are computed at home.
MadePlans make_plans(const BatchLengths& lengths, const PlanSettings& settings, int ranks);

/// A step's plans as text for the other ranks, and back.
std::string plans_to_text(const std::vector<MadePlans>& plans);
std::vector<MadePlans> plans_from_text(const std::string& text);

}  // namespace cadenza
