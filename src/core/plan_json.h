#pragma once

#include <string>

#include "base/json.h"
#include "core/plan.h"

namespace cadenza {

/// The plan file, format "cadenza-plan" version 1 (docs/plan_format.md).
Json plan_to_json(const Plan& plan);

/// Reads one; `where` names the file in errors. A malformed field is a DataError with the field's
/// path, what was expected and what came. Well-formed but wrong coverage is verify_plan's business.
Plan plan_from_json(const Json& json, const std::string& where);

Json mask_to_json(const Mask& mask);
Mask mask_from_json(const Json& json, const std::string& where);

}  // namespace cadenza
