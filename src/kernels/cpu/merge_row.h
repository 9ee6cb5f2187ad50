#pragma once

#include <cstdint>

#include "base/bf16.h"

namespace cadenza {

/// Merges the partial (o, lse) of one row of one head into (into_o, into_lse) by log-sum-exp; `dim`
/// elements of o. A partial with LSE = -inf changes no bit of the target, merging into LSE = -inf
/// takes the partial as it is. Weights are made in double, so that the order of merging shows in
/// the last bits only.
void merge_row(const float* o, float lse, int64_t dim, float* into_o, float* into_lse);
void merge_row(const BFloat16* o, float lse, int64_t dim, float* into_o, float* into_lse);

}  // namespace cadenza
