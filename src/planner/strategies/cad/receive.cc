#include "planner/strategies/cad/receive.h"

#include <algorithm>
#include <cmath>

#include "planner/strategies/cad/repair.h"

namespace cadenza {
namespace {

/// A receive that is good enough, as a multiple of that of a rectangle that fills a server and
/// moves fewest bytes; and how much lower one round makes the largest.
constexpr double kGood = 1.2, kStep = 0.97;

constexpr int kMostRounds = 24;

double largest_receive(const CadState& state) {
  double most = 0;
  for (Rank s = 0; s < state.servers(); ++s) most = std::max(most, state.use(s).recv);
  return most;
}

/// x query rows × y keys of pairs x·y move least where (Q + O)·x = KV·y.
double good_receive(const CadState& state) {
  double cap = 0;
  for (Rank s = 0; s < state.servers(); ++s) cap = std::max(cap, state.cap(s));
  const ModelShape& shape = state.request().shape;
  const auto q = static_cast<double>(shape.q_row_bytes()),
             o = static_cast<double>(shape.o_row_bytes());
  const double half = state.bytes_per_root_cost() * std::sqrt(cap) / 2;  // bytes of Q + O, of K + V
  return half * (1 + q / (q + o));
}

/// What a server does for others returns to where its queries live.
void clear(CadState& state, Rank server) {
  std::vector<int> cells;
  for (const int id : state.items_of(server)) {
    const int c = state.item(id).cell;
    if (state.cell(c).use.recv > 0 && std::find(cells.begin(), cells.end(), c) == cells.end())
      cells.push_back(c);
  }
  for (const int c : cells) state.return_foreign(c);
}

}  // namespace

void lower_largest_receive(CadState& state, double more_bytes) {
  if (state.limits().any() || state.rooms().least().first < 0) return;
  const double most_bytes = state.bytes() * (1 + more_bytes), good = good_receive(state);
  MoveFinder finder(state);
  for (int round = 0; round < kMostRounds; ++round) {
    state.forget();
    const double most = largest_receive(state);
    if (most <= good) break;
    state.set_limits({.recv = most * kStep});
    for (Rank s = 0; s < state.servers(); ++s) {
      if (!state.allows(s, {})) clear(state, s);
    }
    const bool better =
        bring_under_caps(state, finder) && state.over_limits() == 0 && state.bytes() <= most_bytes;
    if (better) continue;
    state.undo(0);
    break;
  }
  state.set_limits({});
  state.forget();
}

}  // namespace cadenza
