#pragma once

#include <vector>

#include "engine/plan_settings.h"
#include "step/segments.h"

namespace cadenza {

/// The masks of a model's kinds of layers, and what share of its layers is of each.
std::vector<LayerKind> layer_kinds(const Segments& model);

}  // namespace cadenza
