#pragma once

#include "core/cost/exchange_cost.h"
#include "core/model_shape.h"
#include "kernels/backend.h"

namespace cadenza {

/// Messages between two ranks that are threads of this process, both directions at once as in a
/// layer, and packing of this model's query rows. The fastest of several tries: what others do on
/// the machine only adds time. About a second.
ExchangeCost measure_exchange(Backend& backend, const ModelShape& shape);

}  // namespace cadenza
