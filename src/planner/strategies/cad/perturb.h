#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "planner/strategies/cad/state.h"

namespace cadenza {

/// Random changes of a plan, after which servers may be above their caps.
class CadPerturbation {
 public:
  CadPerturbation(CadState& state, Rng& rng);

  /// One of: a strip of an item goes to another server that has rows of its document; what a few
  /// cells do for others goes home; what a few servers do for others goes home; a long document is
  /// laid out again. False where luck found nothing to change.
  bool change();

  /// In evaluations of moves.
  int64_t work() const { return work_; }

  double uniform() { return static_cast<double>(rng_() >> 11) * 0x1p-53; }

 private:
  size_t below(size_t n) { return static_cast<size_t>(rng_() >> 11) % n; }
  Rank any_server() { return static_cast<Rank>(below(static_cast<size_t>(state_.servers()))); }

  bool shift_strip();
  Piece strip_of(const Piece& piece);
  bool clear_cells(size_t count);
  bool clear_servers();
  bool lay_out_again();

  int draw_item();
  int draw_cell();
  double waste(int cell) const;
  bool clear_cell();
  void clear_server(Rank server);

  CadState& state_;
  Rng& rng_;
  std::vector<int> long_documents_;
  std::vector<int> cleared_;
  int64_t work_ = 0;
};

}  // namespace cadenza
