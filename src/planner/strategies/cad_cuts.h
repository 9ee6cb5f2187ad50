#pragma once

#include <vector>

#include "planner/strategies/cad_moves.h"

namespace cadenza {

/// A q range × kv range of an item with edges where a cut may be, its pairs trimmed, and their
/// cost.
struct Cut {
  Piece box;
  Piece part;
  double cost = 0;
};

/// Parts of an item worth giving to `receiver`: late query rows × early keys, in several
/// proportions, each of the least cost that reaches amount.wanted (or, where that passes
/// amount.most, one tile less). Where the receiver holds rows of the document, also parts that lie
/// in what it holds. Edges lie on tiles, or are edges of the item or of a shard.
std::vector<Cut> cuts_for(const CadState& state, int item, Rank receiver, Amount amount);

}  // namespace cadenza
