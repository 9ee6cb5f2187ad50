#pragma once

#include <cstdint>

#include "core/plan.h"

namespace cadenza {

/// Throws PlanError naming the task unless every edge of its q and kv range is a multiple of
/// `tile`, a home's boundary, an end of the document or of its queries, an edge of a mask piece, or
/// no cut at all: the mask allows no pair across it.
void check_cuts(const Plan& plan, int64_t tile);

}  // namespace cadenza
