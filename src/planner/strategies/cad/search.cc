#include "planner/strategies/cad/search.h"

#include <algorithm>
#include <cmath>

#include "planner/strategies/cad/perturb.h"
#include "planner/strategies/cad/repair.h"

namespace cadenza {
namespace {

// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983). A round changes the plan somewhere
// (cad/perturb.h), brings all servers under their caps again by noisy moves, and keeps the result
// where it moves fewer bytes, or, by a chance that falls with the temperature, more. Rounds come in
// cycles. A cycle's end alone is good or bad by luck (within 1 % of bytes for other seeds), so the
// first ones each start from the plan given; each later one from the best so far, and less hot than
// the one before.

constexpr int kCycles = 36, kFreshCycles = 12;

/// Temperatures are parts of the bytes of one rectangle of a quarter of a server's work, about what
/// an importer gets. Hotter or colder by a factor of 2 gives the same bytes within 0.5 %.
constexpr double kHottest = 0.03, kColdest = 0.001, kCooling = 0.94;

/// What keeps the search from doing the same again; 0.05 to 0.6 give the same within 0.5 %.
constexpr double kNoise = 0.2;

/// Clearing and undoing, in evaluations of moves.
constexpr int64_t kRoundWork = 20;

double mean_cap(const CadState& state) {
  double sum = 0;
  for (Rank s = 0; s < state.servers(); ++s) sum += state.cap(s);
  return sum / state.servers();
}

class Annealing {
 public:
  Annealing(CadState& state, const SearchOptions& options)
      : state_(state),
        finder_(state),
        rng_(options.seed),
        perturb_(state, rng_),
        work_(options.work),
        unit_(state.bytes_per_root_cost() * std::sqrt(mean_cap(state) / 4)),
        best_bytes_(state.bytes()),
        first_(state.tasks()),
        best_(first_) {
    finder_.set_noise(kNoise, &rng_);
  }

  std::vector<Task> run() {
    state_.forget();
    int cycle = 0;
    for (double at = 0; at < kCycles; at = done() * kCycles) {
      if (static_cast<int>(at) != cycle) {
        cycle = static_cast<int>(at);
        state_.assign(cycle < kFreshCycles ? first_ : best_);
        state_.forget();
      }
      round(unit_ * kHottest * std::pow(kCooling, std::max(0, cycle - kFreshCycles)) *
            std::pow(kColdest / kHottest, at - cycle));
    }
    return best_;
  }

 private:
  double done() const {
    return static_cast<double>(finder_.work() + perturb_.work() + kRoundWork * rounds_) /
           static_cast<double>(work_);
  }

  void round(double temperature) {
    ++rounds_;
    const size_t mark = state_.mark();
    // A change of more bytes by d is kept with probability exp(-d / temperature).
    const double most =
        state_.bytes() - temperature * std::log(std::max(1e-300, perturb_.uniform()));
    const bool kept = perturb_.change() && bring_under_caps(state_, finder_) &&
                      state_.over_limits() == 0 && state_.bytes() <= most;
    if (!kept) {
      state_.undo(mark);
    } else if (state_.bytes() < best_bytes_) {
      best_bytes_ = state_.bytes();
      best_ = state_.tasks();
    }
    state_.forget();
  }

  CadState& state_;
  MoveFinder finder_;
  Rng rng_;
  CadPerturbation perturb_;
  int64_t work_, rounds_ = 0;
  double unit_;
  double best_bytes_;
  std::vector<Task> first_, best_;
};

}  // namespace

std::vector<Task> search(CadState& state, const SearchOptions& options) {
  if (state.bytes() <= 0) return state.tasks();
  return Annealing(state, options).run();
}

}  // namespace cadenza
