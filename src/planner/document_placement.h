#pragma once

#include <cstdint>
#include <vector>

#include "planner/place_head_tail.h"
#include "planner/rank_loads.h"
#include "planner/strategy.h"

namespace cadenza {

/// Homes in the making, for strategies that choose which rank holds which document by the work that
/// it brings. A document lies whole on one rank, or as head and tail pieces on several. Homes
/// depend on lengths and masks alone, not on `queries`: both nano-batches of a batch find their
/// tokens in the same places. A copy is a placement of its own, to be tried and thrown away.
class DocumentPlacement {
 public:
  /// ConfigError where the request makes no sense; NotApplicable where homes are given;
  /// NeedsCapacity where all ranks together cannot hold all tokens. Whatever remains unplaced, in
  /// any order, still fits: `place_in_room` cuts documents to the room there is. So the tokens are
  /// all that decides, and the capacity that the error names is the smallest that is accepted.
  DocumentPlacement(const PlanRequest& request, const char* strategy);

  int64_t capacity() const { return capacity_; }  // tokens a rank
  int ranks() const { return batch_.homes; }
  int64_t length(int document) const { return batch_.documents[index(document)].length; }
  double cost(int document) const { return costs_[index(document)]; }  // of the whole document
  /// Time of every rank if all ended together.
  double mean_time() const { return total_cost_ / loads_.total_speed(); }
  const RankLoads& loads() const { return loads_; }
  /// All documents, most expensive first.
  std::vector<int> documents_by_cost() const;

  void place_whole(int document, Rank rank);
  /// In shares by speed, as far as the ranks' rooms allow; together they must have room.
  void place_over(int document, const std::vector<Rank>& ranks);
  void place_shares(int document, const std::vector<RankShare>& shares);
  /// Cut over the fewest ranks that together have room.
  void place_in_room(int document);

  /// Every query at its home, keys from wherever they lie. All documents must have been placed.
  Plan plan() &&;

 private:
  static size_t index(int document) { return static_cast<size_t>(document); }

  const char* strategy_;
  const CostModel* cost_model_;
  int servers_;
  Batch batch_;
  int64_t capacity_;
  std::vector<double> costs_;
  double total_cost_ = 0;
  RankLoads loads_;
};

}  // namespace cadenza
