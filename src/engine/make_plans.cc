#include "engine/make_plans.h"

#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/stopwatch.h"
#include "core/plan_json.h"
#include "planner/nano_batches.h"

namespace cadenza {
namespace {

/// One request for each nano-batch of the schedule.
std::vector<NanoBatchRequest> requests_of(const BatchLengths& lengths, const PlanSettings& settings,
                                          int ranks) {
  PlanRequest whole{.documents = documents_of_lengths(lengths),
                    .homes_given = false,
                    .homes = ranks,
                    .tokens_per_rank = settings.tokens_per_rank,
                    .cluster = {.servers = ranks,
                                .speeds = {},
                                .servers_per_node = settings.planning.servers_per_node},
                    .shape = settings.shape,
                    .cost = settings.cost.get(),
                    .tolerance = settings.planning.tolerance,
                    .options = settings.planning.options};
  for (Document& document : whole.documents) document.mask = settings.kinds.front().mask;
  if (settings.schedule == ScheduleKind::kPingPong)
    return split_nano_batches(settings.strategy, whole);
  const bool places =
      settings.strategy.places_tokens || settings.planning.options.placement == Placement::kFree;
  if (!places) {
    whole.documents =
        fill_evenly(std::move(whole.documents), ranks, settings.tokens_per_rank).documents;
    whole.homes_given = true;
  }
  std::vector<int> all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  return {{std::move(whole), std::move(all)}};
}

/// The plan of a further kind of layer, on the homes of the first kind's.
Plan plan_of_kind(const LayerKind& kind, PlanRequest request, const Plan& first,
                  const Strategy& strategy) {
  request.documents = first.batch.documents;
  request.homes_given = true;
  for (Document& document : request.documents) document.mask = kind.mask;
  return (strategy.places_tokens ? find_strategy("home") : strategy).plan(request);
}

}  // namespace

MadePlans make_plans(const BatchLengths& lengths, const PlanSettings& settings, int ranks) {
  MadePlans made;
  const Stopwatch watch(made.seconds);
  for (const NanoBatchRequest& nano : requests_of(lengths, settings, ranks)) {
    NanoBatchPlans& of_nano = made.nano_batches.emplace_back();
    of_nano.documents = nano.documents;
    of_nano.plans.push_back(settings.strategy.plan(nano.request));
    for (size_t kind = 1; kind < settings.kinds.size(); ++kind) {
      of_nano.plans.push_back(plan_of_kind(settings.kinds[kind], nano.request,
                                           of_nano.plans.front(), settings.strategy));
    }
  }
  return made;
}

std::string plans_to_text(const std::vector<MadePlans>& plans) {
  Json step = Json::array();
  for (const MadePlans& made : plans) {
    Json nano_batches = Json::array();
    for (const NanoBatchPlans& nano : made.nano_batches) {
      Json of_kinds = Json::array();
      for (const Plan& plan : nano.plans) of_kinds.push_back(plan_to_json(plan));
      nano_batches.push_back({{"documents", nano.documents}, {"plans", std::move(of_kinds)}});
    }
    step.push_back({{"seconds", made.seconds}, {"nano_batches", std::move(nano_batches)}});
  }
  return step.dump();
}

std::vector<MadePlans> plans_from_text(const std::string& text) {
  const std::string origin = "plans from rank 0";
  std::vector<MadePlans> plans;
  for (const Json& batch : parse_json(text, origin)) {
    MadePlans& made = plans.emplace_back();
    made.seconds = batch.at("seconds").get<double>();
    for (const Json& nano : batch.at("nano_batches")) {
      NanoBatchPlans& of_nano = made.nano_batches.emplace_back();
      of_nano.documents = nano.at("documents").get<std::vector<int>>();
      for (const Json& plan : nano.at("plans"))
        of_nano.plans.push_back(plan_from_json(plan, origin));
    }
  }
  return plans;
}

}  // namespace cadenza
