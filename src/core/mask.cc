#include "core/mask.h"

#include <algorithm>

#include "base/cat.h"
#include "base/error.h"
#include "core/overlap.h"

namespace cadenza {
namespace {

void require(bool condition, const char* field, const char* expected, int64_t got) {
  if (condition) return;
  throw DataError(
      cat("[mask] expected ", field, ' ', expected, ", got ", got, "; correct the mask"));
}

// Two parts: the sinks, and the window over the other keys, so that each key is seen once.
std::vector<Piece> window_pieces(const Mask& mask, int64_t length) {
  require(mask.window >= 1, "window", ">= 1", mask.window);
  require(mask.sinks >= 0, "sinks", ">= 0", mask.sinks);
  const int64_t sinks = std::min(mask.sinks, length);
  return {{{0, length}, {0, sinks}, Band::causal()},
          {{0, length}, {sinks, length}, {1 - mask.window, 0}}};
}

std::vector<Piece> chunked_pieces(const Mask& mask, int64_t length) {
  require(mask.chunk >= 1, "chunk", ">= 1", mask.chunk);
  const int64_t chunk = std::min(mask.chunk, length);
  std::vector<Piece> pieces;
  for (int64_t begin = 0; begin < length; begin += chunk) {
    const Range rows{begin, std::min(begin + chunk, length)};
    pieces.push_back({rows, rows, Band::causal()});
  }
  return pieces;
}

std::vector<Piece> prefix_pieces(const Mask& mask, int64_t length) {
  require(mask.prefix >= 0, "prefix", ">= 0", mask.prefix);
  const int64_t prefix = std::min(mask.prefix, length);
  return {{{0, length}, {0, prefix}, Band::full()},
          {{0, length}, {prefix, length}, Band::causal()}};
}

std::vector<Piece> checked_pieces(const Mask& mask, int64_t length) {
  const std::vector<Piece>& pieces = mask.explicit_pieces;
  const Range document{0, length};
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const bool ordered = piece.q.begin <= piece.q.end && piece.kv.begin <= piece.kv.end;
    if (ordered && document.contains(piece.q) && document.contains(piece.kv)) continue;
    throw DataError(cat("[mask] expected pieces inside the document ", document, ", got pieces[", i,
                        "] with q ", piece.q, " and kv ", piece.kv, "; correct the mask"));
  }
  if (const auto overlap = find_overlap(pieces)) {
    throw DataError(cat("[mask] expected disjoint pieces, got query ", overlap->q, ", key ",
                        overlap->k, " in both pieces[", overlap->first, "] and pieces[",
                        overlap->second, "]; correct the mask"));
  }
  return pieces;
}

std::vector<Piece> untrimmed_pieces(const Mask& mask, int64_t length) {
  const Range all{0, length};
  switch (mask.kind) {
    case Mask::Kind::kCausal:
      return {{all, all, Band::causal()}};
    case Mask::Kind::kWindow:
      return window_pieces(mask, length);
    case Mask::Kind::kChunked:
      return chunked_pieces(mask, length);
    case Mask::Kind::kPrefix:
      return prefix_pieces(mask, length);
    case Mask::Kind::kFull:
      return {{all, all, Band::full()}};
    case Mask::Kind::kPieces:
      return checked_pieces(mask, length);
  }
  throw InternalError("[mask] a kind outside the enum");
}

}  // namespace

std::vector<Piece> mask_pieces(const Mask& mask, int64_t length) {
  std::vector<Piece> pieces = untrimmed_pieces(mask, length);
  for (Piece& piece : pieces) piece = trim(piece);
  std::erase_if(pieces, [](const Piece& piece) { return piece.q.empty(); });
  if (pieces.size() < 2) return pieces;  // a sort asks for memory first
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.q.begin < b.q.begin; });
  return pieces;
}

const char* mask_kind_name(Mask::Kind kind) {
  switch (kind) {
    case Mask::Kind::kCausal:
      return "causal";
    case Mask::Kind::kWindow:
      return "window";
    case Mask::Kind::kChunked:
      return "chunked";
    case Mask::Kind::kPrefix:
      return "prefix";
    case Mask::Kind::kFull:
      return "full";
    case Mask::Kind::kPieces:
      return "pieces";
  }
  throw InternalError("[mask] a kind outside the enum");
}

}  // namespace cadenza
