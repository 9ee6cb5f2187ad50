#pragma once

#include <vector>

#include "core/arrivals.h"
#include "core/plan.h"
#include "program/home_layout.h"
#include "program/rank_program.h"
#include "program/row_layout.h"

namespace cadenza {

/// Where rows lie: at all homes, and at this rank as a server.
struct RowPlaces {
  const Plan& plan;
  const HomeLayout& homes;
  const RowLayout& q_layout;
  const RowLayout& kv_layout;
};

/// Fills `rounds` of one rank's program, and the rounds of its tasks, for a plan that moves in
/// rounds. Rounds without a task on any rank are left out. `arrivals`: what every server gets.
/// Expects everything else of the program to be there.
void add_input_rounds(const RowPlaces& places, const std::vector<ServerArrivals>& arrivals,
                      RankProgram& program);

}  // namespace cadenza
