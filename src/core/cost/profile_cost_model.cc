#include "core/cost/profile_cost_model.h"

namespace cadenza {
namespace {

double seconds_on(const AttentionGrid& grid, const Piece& piece) {
  const auto pairs = static_cast<double>(count_pairs(piece));
  if (pairs == 0) return 0;
  const auto rows = static_cast<double>(trim(piece).q.size());
  return grid.seconds(rows, pairs / rows);
}

}  // namespace

double ProfileCostModel::forward_seconds(const Piece& piece) const {
  return seconds_on(profile_.forward, piece);
}

double ProfileCostModel::backward_seconds(const Piece& piece) const {
  return seconds_on(profile_.backward, piece);
}

double ProfileCostModel::task_cost(const Piece& piece) const {
  return forward_seconds(piece) + backward_seconds(piece);
}

}  // namespace cadenza
