#pragma once

#include <vector>

#include "core/plan.h"
#include "program/home_layout.h"
#include "program/rank_program.h"
#include "program/row_layout.h"

namespace cadenza {

/// Where rows lie on every rank.
struct RowPlaces {
  const Plan& plan;
  const HomeLayout& homes;
  const std::vector<RowLayout>& q_layouts;  // by server
  const std::vector<RowLayout>& kv_layouts;
};

/// Fills `rounds` of every program, and the rounds of its tasks, for a plan that moves in rounds.
/// Rounds without a task are left out. Expects everything else of the programs to be there.
void add_input_rounds(const RowPlaces& places, int64_t heads, int64_t kv_heads,
                      std::vector<RankProgram>& programs);

}  // namespace cadenza
