#include "planner/document_placement.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "planner/apportion.h"
#include "planner/home_tasks.h"
#include "planner/placing_strategy.h"

namespace cadenza {
namespace {

int64_t capacity_for(const Batch& batch, const PlanRequest& request, const char* strategy) {
  check_even_capacity(batch, request, strategy);
  return std::min(capacity_of(request), kMaxTokens);
}

/// What the document, placed, costs its ranks: of all its queries, whatever the plan covers.
std::vector<std::pair<Rank, double>> costs_of_shards(const Document& document, int ranks,
                                                     const CostModel& cost_model) {
  Batch alone{.homes = ranks, .documents = {document}};
  alone.documents[0].queries = {0, document.length};
  std::vector<std::pair<Rank, double>> costs;
  for (const Task& task : home_tasks(alone))
    costs.emplace_back(task.server, cost_model.task_cost(task.piece));
  return costs;
}

double cost_of_document(const Document& document, const CostModel& cost_model) {
  double cost = 0;
  for (const Piece& piece : mask_pieces(document.mask, document.length))
    cost += cost_model.task_cost(trim(piece));
  return cost;
}

}  // namespace

DocumentPlacement::DocumentPlacement(const PlanRequest& request, const char* strategy)
    : strategy_(strategy),
      cost_model_(request.cost),
      servers_(request.cluster.servers),
      batch_(unplaced_batch(request, strategy)),
      capacity_(capacity_for(batch_, request, strategy)),
      loads_(request.cluster, request.homes, capacity_) {
  for (const Document& document : batch_.documents) {
    costs_.push_back(cost_of_document(document, *cost_model_));
    total_cost_ += costs_.back();
  }
}

std::vector<int> DocumentPlacement::documents_by_cost() const {
  std::vector<int> order(batch_.documents.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(-cost(a), -length(a), a) < std::tuple(-cost(b), -length(b), b);
  });
  return order;
}

void DocumentPlacement::place_whole(int document, Rank rank) {
  Document& placed = batch_.documents[index(document)];
  placed.shards = {{{0, placed.length}, rank}};
  loads_.add(rank, placed.length, cost(document));
}

void DocumentPlacement::place_over(int document, const std::vector<Rank>& ranks) {
  std::vector<ShareBound> bounds;
  for (const Rank rank : ranks)
    bounds.push_back({.weight = loads_.speed(rank), .room = loads_.room(rank)});
  const std::vector<int64_t> tokens = apportion(length(document), bounds);
  std::vector<RankShare> shares;
  for (size_t i = 0; i < ranks.size(); ++i) shares.push_back({ranks[i], tokens[i]});
  place_shares(document, shares);
}

void DocumentPlacement::place_shares(int document, const std::vector<RankShare>& shares) {
  Document& placed = batch_.documents[index(document)];
  placed.shards = place_head_tail(placed.length, shares);
  for (const RankShare& share : shares) loads_.add(share.rank, share.tokens, 0);
  for (const auto& [rank, cost] : costs_of_shards(placed, batch_.homes, *cost_model_))
    loads_.add(rank, 0, cost);
}

void DocumentPlacement::place_in_room(int document) {
  place_over(document, loads_.roomiest(length(document)));
}

Plan DocumentPlacement::plan() && {
  check_batch(batch_);
  Plan plan{.strategy = strategy_, .servers = servers_, .batch = std::move(batch_), .tasks = {}};
  plan.tasks = home_tasks(plan.batch);
  return plan;
}

}  // namespace cadenza
