#include "planner/strategies/basp.h"

#include <algorithm>

#include "planner/group_homes.h"
#include "planner/home_tasks.h"
#include "planner/placing_strategy.h"
#include "planner/split_heads.h"
#include "planner/strategies/basp_groups.h"

namespace cadenza {
namespace {

/// The documents of a group one behind the other, as many tokens on each of its ranks.
void place_group(const BaspGroup& group, Rank first, std::vector<Document>& documents) {
  // Rank i of the group ends at token (i + 1) · tokens / ranks.
  const auto end_of = [&](int i) { return group.tokens * (i + 1) / group.ranks; };
  int rank = 0;
  int64_t placed = 0;
  for (const int index : group.documents) {
    Document& document = documents[static_cast<size_t>(index)];
    document.shards.clear();
    for (int64_t begin = 0; begin < document.length;) {
      while (end_of(rank) <= placed) ++rank;
      const int64_t end = std::min(document.length, begin + end_of(rank) - placed);
      document.shards.push_back({{begin, end}, first + rank});
      placed += end - begin;
      begin = end;
    }
  }
}

/// Places all groups and returns, for each, its ranks.
std::vector<ServerSpan> place_groups(const std::vector<BaspGroup>& groups, Batch& batch) {
  std::vector<ServerSpan> spans;
  Rank first = 0;
  for (const BaspGroup& group : groups) {
    place_group(group, first, batch.documents);
    spans.push_back({first, group.ranks});
    first += group.ranks;
  }
  return spans;
}

}  // namespace

Plan plan_basp(const PlanRequest& request) {
  Plan plan{.strategy = "basp",
            .servers = request.cluster.servers,
            .batch = unplaced_batch(request, "basp"),
            .tasks = {}};
  const std::vector<BaspGroup> groups = basp_groups(plan.batch.documents, plan.batch.homes);
  int64_t most = 0;
  for (const BaspGroup& group : groups) most = std::max(most, group.tokens_per_rank());
  check_capacity(most, request, "basp");
  const std::vector<ServerSpan> spans = place_groups(groups, plan.batch);
  std::vector<int> group_of(static_cast<size_t>(plan.batch.homes), 0);
  for (size_t i = 0; i < spans.size(); ++i)
    std::fill_n(group_of.begin() + spans[i].first, spans[i].count, static_cast<int>(i));
  const Batch grouped = group_homes(plan.batch, static_cast<int>(spans.size()),
                                    [&](Rank rank) { return group_of[static_cast<size_t>(rank)]; });
  for (const Task& task : home_tasks(grouped))
    split_heads(task, spans[static_cast<size_t>(task.server)], request.shape, plan.tasks);
  return plan;
}

}  // namespace cadenza
