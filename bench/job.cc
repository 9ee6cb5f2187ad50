#include "bench/job.h"

#include <algorithm>

namespace cadenza::bench {

std::vector<Job> jobs_of(const std::vector<Case>& cases, const std::vector<Dtype>& dtypes,
                         Phases phases) {
  std::vector<Job> jobs;
  for (const Case& one : cases) {
    for (const Dtype dtype : dtypes) {
      jobs.push_back({&one, dtype, jobs.size(), round_cost(one, phases)});
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.cost < b.cost; });
  return jobs;
}

double total_cost(const std::vector<Job>& jobs) {
  double cost = 0;
  for (const Job& job : jobs) cost += job.cost;
  return cost;
}

double Budget::share(const Job& job) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  const double share = std::max(0.0, seconds_ - spent.count()) * std::min(1.0, job.cost / cost_);
  cost_ -= job.cost;
  return share;
}

}  // namespace cadenza::bench
