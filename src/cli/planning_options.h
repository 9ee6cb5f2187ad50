#pragma once

#include <CLI/App.hpp>

#include "planner/planning_options.h"

namespace cadenza {

/// Adds the table of planning options to a verb: --max-recv-bytes and the like. `settings` must
/// outlive the parsing. ConfigError from the parsing, naming the option, for a value that makes no
/// sense.
void attach_planning_options(CLI::App& app, PlanningSettings& settings);

}  // namespace cadenza
