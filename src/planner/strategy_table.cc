#include <array>

#include "base/cat.h"
#include "base/error.h"
#include "base/nearest.h"
#include "planner/strategies/cad.h"
#include "planner/strategies/fcp.h"
#include "planner/strategies/hdp.h"
#include "planner/strategies/home.h"
#include "planner/strategies/wlb.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

constexpr std::array kStrategies{
    Strategy{"home", "every shard's queries are computed where they live; no balancing",
             &plan_home},
    Strategy{"cad", "core attention disaggregation: attention moves from loaded to free servers",
             &plan_cad},
    Strategy{"hdp", "ByteScale: each document on as many ranks as it needs; places documents",
             &plan_hdp, /*places_tokens=*/true},
    Strategy{"wlb", "WLB-LLM: whole documents packed to equal work; places documents", &plan_wlb,
             /*places_tokens=*/true},
    Strategy{"fcp", "flexible CP: groups on any number of ranks, least makespan; places documents",
             &plan_fcp, /*places_tokens=*/true},
};

}  // namespace

std::span<const Strategy> all_strategies() { return kStrategies; }

const Strategy& find_strategy(const std::string& name) {
  std::vector<std::string> names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy;
    names.push_back(strategy.name);
  }
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
  throw ConfigError(cat("[planner] expected a strategy of ", known, "; got '", name,
                        "'; did you mean '", nearest(name, names), "'?"));
}

}  // namespace cadenza
