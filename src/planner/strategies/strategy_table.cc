#include <array>

#include "base/cat.h"
#include "base/error.h"
#include "base/nearest.h"
#include "planner/strategies/basp.h"
#include "planner/strategies/cad.h"
#include "planner/strategies/fcp.h"
#include "planner/strategies/hdp.h"
#include "planner/strategies/home.h"
#include "planner/strategies/hsap.h"
#include "planner/strategies/mesh.h"
#include "planner/strategies/packed.h"
#include "planner/strategies/per_document_cp.h"
#include "planner/strategies/ring.h"
#include "planner/strategies/sap.h"
#include "planner/strategies/two_level_ring.h"
#include "planner/strategies/ulysses.h"
#include "planner/strategies/wlb.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

constexpr std::array kStrategies{
    Strategy{"home", "every shard's queries are computed where they live; no balancing",
             &plan_home},
    Strategy{"cad", "core attention disaggregation: attention moves from loaded to free servers",
             &plan_cad},
    Strategy{"packed", "whole documents to ranks, best fit; no exchange", &plan_packed,
             /*places_tokens=*/true},
    Strategy{"ring", "ring attention, zigzag: keys and values go round", &plan_ring,
             /*places_tokens=*/true},
    Strategy{"per_document_cp", "head and tail of every document on each rank, keys gathered",
             &plan_per_document_cp, /*places_tokens=*/true},
    Strategy{"ulysses", "heads for rows: every server all rows of some heads", &plan_ulysses},
    Strategy{"basp", "groups of ranks with documents of their own, Ulysses in each", &plan_basp,
             /*places_tokens=*/true},
    Strategy{"mesh", "Mesh-Attention: a x b tiles of chunk pairs, zigzag", &plan_mesh,
             /*places_tokens=*/true},
    Strategy{"sap", "keys point to point, only what the documents' masks need", &plan_sap},
    Strategy{"hsap", "sap between nodes, Ulysses inside a node", &plan_hsap},
    Strategy{"two_level_ring", "a ring of nodes, a ring in each: rows enter a node once",
             &plan_two_level_ring, /*places_tokens=*/true},
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
