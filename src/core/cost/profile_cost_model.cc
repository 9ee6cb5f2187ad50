#include "core/cost/profile_cost_model.h"

#include <utility>

namespace cadenza {
namespace {

double seconds_on(const AttentionGrid& grid, const Piece& piece) {
  const auto pairs = static_cast<double>(count_pairs(piece));
  if (pairs == 0) return 0;
  const auto rows = static_cast<double>(queries_with_pairs(piece).size());
  return grid.seconds(rows, pairs / rows);
}

/// Forward and backward were measured at the same lengths.
AttentionGrid sum_of(const AttentionGrid& a, const AttentionGrid& b) {
  std::vector<std::vector<double>> seconds = a.table();
  for (size_t i = 0; i < seconds.size(); ++i) {
    for (size_t j = 0; j < seconds[i].size(); ++j) seconds[i][j] += b.table()[i][j];
  }
  return {a.q_rows(), a.kv_rows(), std::move(seconds)};
}

}  // namespace

ProfileCostModel::ProfileCostModel(Profile profile)
    : profile_(std::move(profile)), both_(sum_of(profile_.forward, profile_.backward)) {}

double ProfileCostModel::forward_seconds(const Piece& piece) const {
  return seconds_on(profile_.forward, piece);
}

double ProfileCostModel::backward_seconds(const Piece& piece) const {
  return seconds_on(profile_.backward, piece);
}

double ProfileCostModel::task_cost(const Piece& piece) const { return seconds_on(both_, piece); }

bool ProfileCostModel::extrapolates(const Piece& piece) const {
  const auto pairs = static_cast<double>(count_pairs(piece));
  if (pairs == 0) return false;
  const auto rows = static_cast<double>(queries_with_pairs(piece).size());
  return !both_.contains(rows, pairs / rows);
}

}  // namespace cadenza
