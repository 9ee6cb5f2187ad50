#pragma once

#include <span>
#include <string>

#include "planner/strategy.h"

namespace cadenza {

/// What may be asked of planning, whoever asks: a configuration file, a verb, a benchmark.
struct PlanningSettings {
  double tolerance = 0.02;
  std::string cost_model = "pairs";  // or the file of a profile
  int servers_per_node = 0;          // 0: all in one
  PlanOptions options;
};

/// One row of the table: configuration files have it as planner.NAME, verbs as --NAME with hyphens.
/// A new option is a field of PlanOptions and a row.
struct PlanningOption {
  enum class Type { kNumber, kInteger, kFlag, kText };

  const char* name;
  Type type;
  const char* expected;  // completes "expected ..."
  const char* help;      // one line
  /// False: the text is not as expected, nothing is set.
  bool (*set)(PlanningSettings& settings, const std::string& text);
  /// The value as text; empty: not given, and without default.
  std::string (*get)(const PlanningSettings& settings);
};

std::span<const PlanningOption> planning_options();

/// ConfigError with what was expected; `where` names the key or the option.
void set_planning_option(PlanningSettings& settings, const PlanningOption& option,
                         const std::string& text, const std::string& where);

}  // namespace cadenza
