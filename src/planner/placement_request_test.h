#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Causal documents of these lengths to be placed on `servers` ranks of `capacity` tokens.
inline PlanRequest request_to_place(const std::vector<int64_t>& lengths, int servers,
                                    int64_t capacity, const CostModel& cost) {
  return {.documents = documents_of_lengths(lengths),
          .homes_given = false,
          .homes = servers,
          .tokens_per_rank = capacity,
          .cluster = {.servers = servers, .speeds = {}},
          .shape = {},
          .cost = &cost,
          .tolerance = 0.05,
          .options = {}};
}

/// Ranks that hold some of the document.
inline int degree_of(const Plan& plan, size_t document) {
  std::vector<bool> holds(static_cast<size_t>(plan.batch.homes), false);
  for (const Shard& shard : plan.batch.documents[document].shards)
    holds[static_cast<size_t>(shard.home)] = true;
  int degree = 0;
  for (const bool one : holds) degree += one;
  return degree;
}

inline std::vector<int64_t> tokens_per_rank(const Plan& plan) {
  std::vector<int64_t> tokens;
  for (Rank rank = 0; rank < plan.batch.homes; ++rank)
    tokens.push_back(local_rows(plan.batch, rank));
  return tokens;
}

}  // namespace cadenza
