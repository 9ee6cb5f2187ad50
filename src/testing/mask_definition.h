#pragma once

#include "core/mask.h"

namespace cadenza {

/// Whether a mask lets query q see key k of a document of `length` tokens: the definition, written
/// without pieces, bands or ranges of queries, for tests that count pairs one by one.
bool mask_allows(const Mask& mask, int64_t length, int64_t q, int64_t k);

}  // namespace cadenza
