#pragma once

#include <optional>

#include "planner/strategies/cad_state.h"

namespace cadenza {

/// A part of an item that shall go to another server.
struct Move {
  int item = 0;
  Piece box;  // what CadState::give takes
  Rank receiver = 0;
  double cost = 0;
  double score =
      0;  // bytes, and the bytes expected for what the move leaves undone; less is better
};

/// How much a move shall take, in cost.
struct Amount {
  double wanted = 0;  // at least, where a cut can be found
  double most = 0;    // never more
};

/// The best move from a server above its cap to one with room, filling no receiver above its cap;
/// none where the smallest part that a cut can take is too much for every receiver looked at.
std::optional<Move> best_move(const CadState& state, Rank donor);

/// The best move from `donor` to `receiver` of about this amount; none where nothing fits.
std::optional<Move> best_move_to(const CadState& state, Rank donor, Rank receiver, Amount amount);

}  // namespace cadenza
