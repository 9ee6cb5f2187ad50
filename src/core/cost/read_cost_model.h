#pragma once

#include <memory>
#include <string>

#include "core/cost_model.h"

namespace cadenza {

/// "pairs", or else a profile's file. DataError when that is malformed or missing.
std::unique_ptr<CostModel> read_cost_model(const std::string& pairs_or_file);

}  // namespace cadenza
