#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Variable-length packing by workload (WLB-LLM, arXiv 2503.17924): ranks may hold different
/// numbers of tokens, up to the capacity, so that they have equal work. Each document, most
/// expensive first, lies whole on the rank that would finish it first among those with room; one
/// that no rank has room for is cut into head and tail pieces over the fewest ranks that have
/// (per-document context parallelism).
///
/// The capacity is never exceeded to be more even, and there is no padding: what the attention
/// costs is what `cost` says of real tokens. Long documents can wait for a better batch where the
/// data stream is told to defer them (data.defer).
///
/// Requires: no homes. Tokens a rank: options.capacity. Speeds are honoured.
/// Throws:   NotApplicable where homes are given, NeedsCapacity where the ranks cannot hold all.
/// Cost:     nothing moves but the keys of documents that had to be cut.
/// Not for:  a document that costs more than a rank's mean work: whoever holds it is last.
Plan plan_wlb(const PlanRequest& request);

}  // namespace cadenza
