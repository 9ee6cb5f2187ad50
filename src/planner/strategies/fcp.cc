#include "planner/strategies/fcp.h"

#include "planner/apportion.h"
#include "planner/document_placement.h"
#include "planner/strategies/fcp_degrees.h"
#include "planner/strategies/fcp_groups.h"

namespace cadenza {
namespace {

std::vector<int> degrees_of(const AtomicGroups& packed, const DocumentPlacement& placement) {
  std::vector<GroupWork> work;
  for (const AtomicGroup& group : packed.groups) {
    GroupWork& sum = work.emplace_back(GroupWork{.cost = 0, .least_ranks = group.least_ranks});
    for (const int document : group.documents) sum.cost += placement.cost(document);
  }
  std::vector<double> speeds;
  for (Rank rank = 0; rank < placement.ranks(); ++rank)
    speeds.push_back(placement.loads().speed(rank));
  return least_makespan_degrees(work, speeds);
}

/// Tokens of the whole group on each of its ranks.
std::vector<int64_t> budgets_of(const AtomicGroup& group, Rank first, int degree,
                                const DocumentPlacement& placement) {
  std::vector<ShareBound> bounds;
  for (Rank rank = first; rank < first + degree; ++rank)
    bounds.push_back({.weight = placement.loads().speed(rank), .room = placement.capacity()});
  return apportion(group.tokens, bounds);
}

/// Each document in proportion to what is left of the ranks' budgets, so that the last one meets
/// them exactly.
void place_group(const AtomicGroup& group, Rank first, int degree, DocumentPlacement& placement) {
  std::vector<ShareBound> left;
  for (const int64_t budget : budgets_of(group, first, degree, placement))
    left.push_back({.weight = static_cast<double>(budget), .room = budget});
  for (const int document : group.documents) {
    const std::vector<int64_t> tokens = apportion(placement.length(document), left);
    std::vector<RankShare> shares;
    for (int i = 0; i < degree; ++i) {
      const auto lane = static_cast<size_t>(i);
      shares.push_back({first + i, tokens[lane]});
      left[lane].room -= tokens[lane];
      left[lane].weight = static_cast<double>(left[lane].room);
    }
    placement.place_shares(document, shares);
  }
}

}  // namespace

Plan plan_fcp(const PlanRequest& request) {
  DocumentPlacement placement(request, "fcp");
  const AtomicGroups packed =
      pack_atomic_groups(request.documents, placement.ranks(), placement.capacity());
  const std::vector<int> degrees = degrees_of(packed, placement);
  Rank first = 0;
  for (size_t i = 0; i < degrees.size(); ++i) {
    place_group(packed.groups[i], first, degrees[i], placement);
    first += degrees[i];
  }
  for (const int document : packed.left_over) placement.place_in_room(document);
  return std::move(placement).plan();
}

}  // namespace cadenza
