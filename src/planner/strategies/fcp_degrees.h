#pragma once

#include <span>
#include <vector>

namespace cadenza {

/// What the division of ranks needs to know of a group.
struct GroupWork {
  double cost = 0;
  int least_ranks = 1;
};

/// How many ranks each group gets. Groups take neighbouring ranks in order, the first group from
/// rank 0 on; a group of cost c on ranks of total speed s takes c / s. The result has the least
/// possible largest time, and no group has more ranks than it needs for that. Requires least_ranks
/// that sum to at most the number of speeds.
///
/// Dynamic programming over (groups, ranks), F[i][r] = the least over d of max(F[i - 1][r - d],
/// time of group i on ranks [r - d, r)). The first falls and the second grows as r - d grows, so
/// the best d is found by bisection; and a group's r can only lie within the ranks that nobody
/// needs at least. Time O(groups × spare × log spare), spare = ranks - sum of least_ranks, and so
/// at most ranks² / 4 × log(ranks); memory O(ranks).
std::vector<int> least_makespan_degrees(std::span<const GroupWork> groups,
                                        std::span<const double> speeds);

}  // namespace cadenza
