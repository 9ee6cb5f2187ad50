#pragma once

#include "core/batch.h"

namespace cadenza {

/// All documents, in order, as one packed sequence cut into 2 × homes chunks: rank i gets chunks i
/// and 2 × homes - 1 - i (zigzag). Every rank then has the same number of tokens, one more or less
/// where they do not divide, and under one causal mask over the whole sequence the same number of
/// pairs. Of packed documents it is blind to where one ends, so their pairs are not balanced. Sets
/// the shards; any lengths, also fewer tokens than chunks.
void place_zigzag(Batch& batch);

}  // namespace cadenza
