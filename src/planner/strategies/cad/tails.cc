#include "planner/strategies/cad/tails.h"

#include <algorithm>
#include <cmath>

#include "planner/strategies/cad/moves.h"

namespace cadenza {
namespace {

/// Rows may move this times the bytes of the keys that they need no more: those of a document on
/// two servers also to level the two, those of longer ones, which are laid out as wholes, not.
constexpr int64_t kMostOfTwo = 4;

/// What all that a server lacks or has too much will cost, in bytes.
double price(const CadState& state, Rank server) {
  const double room = state.room(server);
  return state.bytes_per_root_cost() *
         (room < 0 ? kSurplusWeight * std::sqrt(-room) : kRoomWeight * std::sqrt(room));
}

double value(const CadState& state, Rank a, Rank b) {
  return state.bytes() + price(state, a) + price(state, b);
}

/// Gives what is done of these rows with these keys to where the keys live, if that is better.
void give_to_keys(CadState& state, int document, const Shard& rows, const Shard& keys) {
  const int c = state.find_cell(document, rows.home);
  if (c < 0 || state.cell(c).use.kv == 0) return;
  const size_t mark = state.mark();
  const double before = value(state, rows.home, keys.home);
  const std::vector<int> ids = state.cell(c).items;
  for (const int id : ids) {
    const Piece& piece = state.item(id).piece;
    if (!rows.rows.contains(piece.q)) continue;
    const Piece box{piece.q, intersect(piece.kv, keys.rows), piece.band};
    if (count_pairs(box) > 0) state.give(id, box, keys.home);
  }
  if (value(state, rows.home, keys.home) >= before) state.undo(mark);
}

}  // namespace

void give_tails(CadState& state) {
  const ModelShape& shape = state.request().shape;
  const int64_t row = shape.q_row_bytes() + shape.o_row_bytes(), key = shape.kv_row_bytes();
  for (int d = 0; d < state.documents(); ++d) {
    const auto& shards = state.batch().documents[static_cast<size_t>(d)].shards;
    if (shards.size() < 2) continue;
    const int64_t most = shards.size() == 2 ? kMostOfTwo : 1;
    for (const Shard& rows : shards) {
      for (const Shard& keys : shards) {
        if (keys.rows.begin >= rows.rows.begin || rows.home == keys.home) continue;
        if (rows.rows.size() * row >= most * keys.rows.size() * key) continue;
        give_to_keys(state, d, rows, keys);
      }
    }
  }
}

}  // namespace cadenza
