#include "cli/planning_options.h"

#include <algorithm>

#include "base/cat.h"

namespace cadenza {
namespace {

std::string hyphens(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void attach_flag(CLI::App& app, PlanningSettings& settings, const PlanningOption& option) {
  const std::string name = hyphens(option.name);
  const std::string by_default = option.get(settings) == "true" ? "yes" : "no";
  app.add_flag_callback(
      "--" + name, [&settings, &option] { option.set(settings, "true"); },
      cat(option.help, "; default ", by_default));
  app.add_flag_callback(
      "--no-" + name, [&settings, &option] { option.set(settings, "false"); }, "The opposite");
}

}  // namespace

void attach_planning_options(CLI::App& app, PlanningSettings& settings) {
  for (const PlanningOption& option : planning_options()) {
    if (option.type == PlanningOption::Type::kFlag) {
      attach_flag(app, settings, option);
      continue;
    }
    const std::string name = "--" + hyphens(option.name);
    app.add_option_function<std::string>(
           name,
           [&settings, &option, name](const std::string& text) {
             set_planning_option(settings, option, text, name);
           },
           option.help)
        ->default_str(option.get(settings));
  }
}

}  // namespace cadenza
