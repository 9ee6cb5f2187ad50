#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Per-document context parallelism: every rank holds a head and a tail piece of every document and
/// computes their queries; the keys of the other ranks come in one round. Exactly balanced under
/// causal masks where lengths divide by 2 × ranks, else to a token a document. The strong baseline
/// for long documents; not for many short ones, whose keys every rank fetches too, in pieces of a
/// few rows.
Plan plan_per_document_cp(const PlanRequest& request);

}  // namespace cadenza
