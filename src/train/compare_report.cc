#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "base/cat.h"
#include "report/table.h"
#include "train/compare_run.h"

namespace cadenza {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Of a value over the steps, without the first where there are others.
double median_of(const StrategySteps& result, const std::function<double(const StepReport&)>& value) {
  std::vector<double> values;
  const size_t first = result.steps.size() > 1 ? 1 : 0;
  for (size_t i = first; i < result.steps.size(); ++i) values.push_back(value(result.steps[i]));
  return median(values);
}

double median_seconds(const StrategySteps& result) {
  return median_of(result, [](const StepReport& step) { return step.seconds; });
}

/// Largest over steps of |loss - reference loss| / |reference loss|.
double largest_loss_difference(const StrategySteps& result, const StrategySteps& reference) {
  double largest = 0;
  for (size_t i = 0; i < result.steps.size(); ++i) {
    const double expected = reference.steps[i].loss;
    const double difference = std::abs(result.steps[i].loss - expected);
    largest = std::max(largest, expected == 0 ? difference : difference / std::abs(expected));
  }
  return largest;
}

std::vector<int64_t> peak_memory(const StrategySteps& result) {
  std::vector<int64_t> peak(result.steps.front().rank_peak_memory_bytes.size(), 0);
  for (const StepReport& step : result.steps) {
    for (size_t rank = 0; rank < peak.size(); ++rank) {
      peak[rank] = std::max(peak[rank], step.rank_peak_memory_bytes[rank]);
    }
  }
  return peak;
}

/// Everything measured is a median over the same steps, bytes a mean: they differ with the batch, not with the machine.
Json row_of(const StrategySteps& result, const StrategySteps& reference) {
  Json seconds = Json::array(), losses = Json::array();
  double bytes = 0;
  for (const StepReport& step : result.steps) {
    seconds.push_back(step.seconds);
    losses.push_back(step.loss);
    bytes += static_cast<double>(step.sent_bytes());
  }
  return {{"name", result.strategy},
          {"step_seconds_median", median_seconds(result)},
          {"step_seconds", seconds},
          {"tokens_per_second", median_of(result, [](const StepReport& step) { return step.tokens_per_second(); })},
          {"attention_max_over_mean",
           median_of(result, [](const StepReport& step) { return step.attention_max_over_mean(); })},
          {"bytes_per_step", bytes / static_cast<double>(result.steps.size())},
          {"losses", losses},
          {"peak_memory_bytes", peak_memory(result)},
          {"largest_loss_difference", largest_loss_difference(result, reference)},
          {"step_throughput_over_first", median_seconds(reference) / median_seconds(result)}};
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

}  // namespace

Json compare_to_json(const std::vector<StrategySteps>& results) {
  Json rows = Json::array();
  for (const StrategySteps& result : results) rows.push_back(row_of(result, results.front()));
  return {{"strategies", rows}};
}

}  // namespace cadenza
