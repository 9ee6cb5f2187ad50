#pragma once

#include "core/batch.h"
#include "core/cluster.h"
#include "core/model_shape.h"

namespace cadenza {

/// Bytes of one forward (Q + K + V + O) that every plan with these homes moves at least, whose
/// tasks have all heads and whose servers stay below (1 + tolerance) × their share of the pairs.
/// Also of documents that live on several servers, and of any mask. Looks at what each server has
/// to fetch for its share, not at who gives it. Proof: lower_bound_by_server.cc.
double lower_bound_by_server(const Batch& batch, const Cluster& cluster, const ModelShape& shape,
                             double tolerance);

}  // namespace cadenza
