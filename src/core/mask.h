#pragma once

#include <cstdint>
#include <vector>

#include "core/piece.h"

namespace cadenza {

/// Which keys a query of a document may see.
struct Mask {
  enum class Kind { kCausal, kWindow, kChunked, kPrefix, kFull, kPieces };

  Kind kind = Kind::kCausal;
  int64_t window = 0;  // kWindow: a query sees itself and window - 1 keys before it ...
  int64_t sinks = 0;   // ... and the keys below sinks, each key once; causal
  int64_t chunk = 0;   // kChunked: causal inside chunks of this many tokens
  int64_t prefix = 0;  // kPrefix: keys below prefix are seen by all, causal after
  std::vector<Piece> explicit_pieces;  // kPieces: disjoint

  bool operator==(const Mask&) const = default;
};

/// The mask of a document of `length` tokens as disjoint pieces, ordered by q.begin. Throws
/// DataError where the mask's numbers make no sense (window < 1, pieces outside the document or
/// overlapping).
std::vector<Piece> mask_pieces(const Mask& mask, int64_t length);

/// "causal", "window", ... as in plan files.
const char* mask_kind_name(Mask::Kind kind);

}  // namespace cadenza
