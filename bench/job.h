#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "bench/case.h"
#include "bench/measure_case.h"

namespace cadenza::bench {

/// One case in one dtype.
struct Job {
  const Case* one;
  Dtype dtype;
  size_t place;  // in the output
  double cost;   // operations of a round
};

/// Cheapest first: an interrupted run has most rows, and what a cheap case leaves of its share goes
/// to the dear ones. The jobs point into `cases`.
std::vector<Job> jobs_of(const std::vector<Case>& cases, const std::vector<Dtype>& dtypes,
                         Phases phases);

/// Of a round of each.
double total_cost(const std::vector<Job>& jobs);

/// Hands out the seconds that are left, since it was made, in proportion to what rounds cost.
class Budget {
 public:
  Budget(double seconds, double total_cost) : seconds_(seconds), cost_(total_cost) {}
  double share(const Job& job);

 private:
  double seconds_;
  double cost_;  // of jobs that had no share yet
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace cadenza::bench
