#include "testing/mask_definition.h"

namespace cadenza {
namespace {

bool piece_holds(const Piece& piece, int64_t q, int64_t k) {
  const int64_t difference = k - q;
  return q >= piece.q.begin && q < piece.q.end && k >= piece.kv.begin && k < piece.kv.end &&
         difference >= piece.band.lowest && difference <= piece.band.highest;
}

bool any_piece_holds(const std::vector<Piece>& pieces, int64_t q, int64_t k) {
  for (const Piece& piece : pieces) {
    if (piece_holds(piece, q, k)) return true;
  }
  return false;
}

}  // namespace

bool mask_allows(const Mask& mask, int64_t length, int64_t q, int64_t k) {
  if (q < 0 || q >= length || k < 0 || k >= length) return false;
  switch (mask.kind) {
    case Mask::Kind::kCausal:
      return k <= q;
    case Mask::Kind::kWindow:
      return k <= q && (k > q - mask.window || k < mask.sinks);
    case Mask::Kind::kChunked:
      return k <= q && k / mask.chunk == q / mask.chunk;
    case Mask::Kind::kPrefix:
      return k <= q || k < mask.prefix;
    case Mask::Kind::kFull:
      return true;
    case Mask::Kind::kPieces:
      return any_piece_holds(mask.explicit_pieces, q, k);
  }
  return false;
}

}  // namespace cadenza
