#pragma once

#include <cstdint>
#include <vector>

namespace cadenza {

/// Measured seconds of attention over full rectangles, for one phase.
///
/// Inside the grid the logarithm of time is interpolated linearly in the logarithms of both
/// lengths. Outside, the time per pair is that of the nearest point of the grid's edge: large
/// rectangles run at one rate, and a piece below the grid takes its share of the smallest one's
/// time, because tasks of a fused call pay no start each. Time never falls where a side grows.
class AttentionGrid {
 public:
  /// Both lists ascend, at least two numbers each, all >= 1; seconds[i][j] > 0 is of q_rows[i] ×
  /// kv_rows[j]. Where noise made a longer side faster, the larger time of the shorter one is
  /// taken.
  AttentionGrid(std::vector<int64_t> q_rows, std::vector<int64_t> kv_rows,
                std::vector<std::vector<double>> seconds);

  /// Of q query rows that see kv keys each; both > 0, and not necessarily whole. O(log n).
  double seconds(double q, double kv) const;

  /// True where no time is extrapolated.
  bool contains(double q, double kv) const;

  const std::vector<int64_t>& q_rows() const { return q_rows_; }
  const std::vector<int64_t>& kv_rows() const { return kv_rows_; }
  const std::vector<std::vector<double>>& table() const { return seconds_; }

 private:
  std::vector<int64_t> q_rows_, kv_rows_;
  std::vector<double> log_q_, log_kv_;
  std::vector<std::vector<double>> seconds_, log_seconds_;
};

}  // namespace cadenza
