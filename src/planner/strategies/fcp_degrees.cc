#include "planner/strategies/fcp_degrees.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace cadenza {
namespace {

/// Times of a group on neighbouring ranks.
class RankSpeeds {
 public:
  explicit RankSpeeds(std::span<const double> speeds) : sums_(speeds.size() + 1, 0.0) {
    std::partial_sum(speeds.begin(), speeds.end(), sums_.begin() + 1);
  }
  double time(double cost, int begin, int end) const {
    return cost / (sums_[static_cast<size_t>(end)] - sums_[static_cast<size_t>(begin)]);
  }

 private:
  std::vector<double> sums_;
};

/// F[i][least + e] from F[i - 1], for one e; `least` ranks are needed by the groups up to this one.
double best_end(const std::vector<double>& before, int e, int least, const GroupWork& group,
                const RankSpeeds& speeds) {
  const auto time = [&](int spare_before) {
    return speeds.time(group.cost, least - group.least_ranks + spare_before, least + e);
  };
  // The fewest spare ranks left to the groups before at which these no longer take longer.
  int low = 0, high = e;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (before[static_cast<size_t>(middle)] <= time(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const auto makespan = [&](int spare) {
    return std::max(before[static_cast<size_t>(spare)], time(spare));
  };
  return low > 0 ? std::min(makespan(low), makespan(low - 1)) : makespan(low);
}

double least_makespan(std::span<const GroupWork> groups, int spare, const RankSpeeds& speeds) {
  // F[i] as a function of the spare ranks that groups 0 .. i use or leave free; it never grows.
  std::vector<double> best(static_cast<size_t>(spare) + 1, 0.0), next(best.size());
  int least = 0;
  for (const GroupWork& group : groups) {
    least += group.least_ranks;
    for (int e = 0; e <= spare; ++e)
      next[static_cast<size_t>(e)] = best_end(best, e, least, group, speeds);
    best.swap(next);
  }
  return best.back();
}

}  // namespace

std::vector<int> least_makespan_degrees(std::span<const GroupWork> groups,
                                        std::span<const double> speeds) {
  int spare = static_cast<int>(speeds.size());
  for (const GroupWork& group : groups) spare -= group.least_ranks;
  CADENZA_CHECK(spare >= 0, groups.size(), " groups need ", -spare, " more ranks");
  const RankSpeeds ranks(speeds);
  const double makespan = least_makespan(groups, spare, ranks);
  // Who takes the fewest ranks that keep the makespan leaves the most to those after it.
  std::vector<int> degrees;
  int begin = 0;
  for (const GroupWork& group : groups) {
    int degree = group.least_ranks;
    while (ranks.time(group.cost, begin, begin + degree) > makespan) ++degree;
    degrees.push_back(degree);
    begin += degree;
  }
  return degrees;
}

}  // namespace cadenza
