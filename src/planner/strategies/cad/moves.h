#pragma once

#include <optional>
#include <vector>

#include "base/rng.h"
#include "planner/strategies/cad/cuts.h"

namespace cadenza {

/// Weights of what a move leaves undone, in the bytes that it would cost as one rectangle each. The
/// donor's surplus must be given in the end, the receiver's room need not be filled (there is more
/// of it than surplus, by the tolerance), so it counts less. Chosen by the mean of bytes over 21
/// inputs of 8 to 512 servers: flat within 0.3 % for 0.7 to 1 and 1 to 1.5; without the room's part
/// 17 % more.
inline constexpr double kSurplusWeight = 1.2;
inline constexpr double kRoomWeight = 0.9;

/// How moves are scored.
struct MoveWeights {
  double surplus = kSurplusWeight, room = kRoomWeight;
  /// Query rows count this part more while the donor has more to give: what is left of a triangle
  /// after several wide rectangles is a better shape than after several square ones.
  double more_rows = 0;
};

/// A box of an item for another server, and how good that is: lower is better.
struct Move {
  int item = 0;
  Piece box;
  Rank receiver = 0;
  double cost = 0;
  double score = 0;
};

/// Finds moves. Holds scratch memory, so that a search does not allocate.
class MoveFinder {
 public:
  explicit MoveFinder(const CadState& state) : state_(state) {}

  /// Scores are spread by up to this part, so that a search finds other plans; 0 for none.
  void set_noise(double noise, Rng* rng) {
    noise_ = noise;
    rng_ = rng;
  }

  void set_weights(const MoveWeights& weights) { weights_ = weights; }

  /// Moves evaluated so far: a measure of time that is the same on every machine.
  int64_t work() const { return work_; }

  /// The best way to give from a server above its cap to one with room, by bytes; none where
  /// nothing fits.
  std::optional<Move> best_move(Rank donor);
  /// The best way to give this amount to a certain server.
  std::optional<Move> best_move_to(Rank donor, Rank receiver, Amount amount);

 private:
  /// A box to cut, for a receiver.
  struct Place {
    int item = 0;
    Rank receiver = 0;
    double surplus = 0, room = 0;
  };

  void find_items(Rank donor, Amount amount);
  void find_receivers(double surplus);
  void find_holders(int document, Rank donor);
  void give_to(int item, Rank receiver, double surplus);
  void try_all_receivers(Rank donor, double surplus);
  void consider(int item, Rank receiver, Amount amount);
  void consider_prefixes(const Place& place, const Piece& box, Amount amount);
  void consider_box(const Place& place, const Piece& box, Amount amount);
  /// Tries the numbers of rows around the best one.
  void refine();
  /// True where it is the best so far.
  bool score(const Place& place, const std::optional<Cut>& cut);
  double noise();

  const CadState& state_;
  int64_t work_ = 0;
  double noise_ = 0;
  MoveWeights weights_;
  Rng* rng_ = nullptr;
  std::vector<int> items_;
  std::vector<Rank> receivers_, all_receivers_;
  std::optional<Move> best_;
  Place best_place_;
  Piece best_box_;
  Amount best_amount_;
  int64_t best_tiles_ = 0;  // 0: all keys, not to be refined
  double best_noise_ = 0, noise_here_ = 0;
};

}  // namespace cadenza
