#pragma once

#include <memory>
#include <string>

#include "core/cost_model.h"
#include "core/model_shape.h"

namespace cadenza {

/// "pairs", or else a profile's file. DataError when that is malformed or missing; ConfigError when
/// it was made for attention of another shape (heads, kv heads, head_dim) or dtype than the plan's.
std::unique_ptr<CostModel> read_cost_model(const std::string& pairs_or_file,
                                           const ModelShape& shape);

}  // namespace cadenza
