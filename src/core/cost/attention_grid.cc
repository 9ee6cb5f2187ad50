#include "core/cost/attention_grid.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace cadenza {
namespace {

std::vector<double> logarithms(const std::vector<int64_t>& lengths) {
  std::vector<double> logs;
  for (const int64_t length : lengths) logs.push_back(std::log(static_cast<double>(length)));
  return logs;
}

/// Between which two entries x lies, and how far from the first to the second.
struct Place {
  size_t index;
  double fraction;
};

Place place_of(const std::vector<double>& logs, double x) {
  const auto after = std::upper_bound(logs.begin() + 1, logs.end() - 1, x);
  const auto index = static_cast<size_t>(after - logs.begin()) - 1;
  return {index, (x - logs[index]) / (logs[index + 1] - logs[index])};
}

}  // namespace

AttentionGrid::AttentionGrid(std::vector<int64_t> q_rows, std::vector<int64_t> kv_rows,
                             std::vector<std::vector<double>> seconds)
    : q_rows_(std::move(q_rows)),
      kv_rows_(std::move(kv_rows)),
      log_q_(logarithms(q_rows_)),
      log_kv_(logarithms(kv_rows_)),
      seconds_(std::move(seconds)) {
  CADENZA_CHECK(q_rows_.size() >= 2 && kv_rows_.size() >= 2 && seconds_.size() == q_rows_.size());
  for (size_t i = 0; i < seconds_.size(); ++i) {
    CADENZA_CHECK(seconds_[i].size() == kv_rows_.size());
    for (size_t j = 0; j < seconds_[i].size(); ++j) {
      double& here = seconds_[i][j];
      if (i > 0) here = std::max(here, seconds_[i - 1][j]);
      if (j > 0) here = std::max(here, seconds_[i][j - 1]);
    }
    std::vector<double>& logs = log_seconds_.emplace_back();
    for (const double s : seconds_[i]) logs.push_back(std::log(s));
  }
}

bool AttentionGrid::contains(double q, double kv) const {
  const auto between = [](const std::vector<int64_t>& lengths, double x) {
    return static_cast<double>(lengths.front()) <= x && x <= static_cast<double>(lengths.back());
  };
  return between(q_rows_, q) && between(kv_rows_, kv);
}

double AttentionGrid::seconds(double q, double kv) const {
  const double x = std::log(q), y = std::log(kv);
  const double at_q = std::clamp(x, log_q_.front(), log_q_.back());
  const double at_kv = std::clamp(y, log_kv_.front(), log_kv_.back());
  const Place i = place_of(log_q_, at_q), j = place_of(log_kv_, at_kv);
  const auto along_kv = [&](const std::vector<double>& row) {
    return row[j.index] + j.fraction * (row[j.index + 1] - row[j.index]);
  };
  const double first = along_kv(log_seconds_[i.index]);
  const double second = along_kv(log_seconds_[i.index + 1]);
  return std::exp(first + i.fraction * (second - first) + (x - at_q) + (y - at_kv));
}

}  // namespace cadenza
