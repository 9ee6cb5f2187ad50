#include "compare/compare_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>

#include "base/cat.h"
#include "report/table.h"

namespace cadenza {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Of a value over the steps, without the first where there are others.
double median_of(const StrategySteps& result,
                 const std::function<double(const StepReport&)>& value) {
  std::vector<double> values;
  const size_t first = result.steps.size() > 1 ? 1 : 0;
  for (size_t i = first; i < result.steps.size(); ++i) values.push_back(value(result.steps[i]));
  return median(values);
}

double median_seconds(const StrategySteps& result) {
  return median_of(result, [](const StepReport& step) { return step.seconds; });
}

/// Of all steps together. Steps differ with their documents, so this is steadier than medians.
double total_seconds(const StrategySteps& result) {
  double sum = 0;
  for (const StepReport& step : result.steps) sum += step.seconds;
  return sum;
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

/// Predicted against measured attention: of each step after the first, the largest relative error
/// of a rank, with one scale for the run, which the first step gives; the median over steps. Less
/// than two steps say nothing.
std::optional<double> prediction_error(const StrategySteps& result) {
  double predicted = 0, measured = 0;
  const StepReport& warm_up = result.steps.front();
  for (size_t rank = 0; rank < warm_up.rank_times.size(); ++rank) {
    predicted += warm_up.rank_predicted_attention[rank];
    measured += warm_up.rank_times[rank].lanes[Lane::kAttention];
  }
  if (result.steps.size() < 2 || predicted <= 0) return std::nullopt;
  std::vector<double> errors;
  for (size_t i = 1; i < result.steps.size(); ++i) {
    double largest = 0;
    for (size_t rank = 0; rank < warm_up.rank_times.size(); ++rank) {
      const double seconds = result.steps[i].rank_times[rank].lanes[Lane::kAttention];
      const double expected = result.steps[i].rank_predicted_attention[rank] * measured / predicted;
      if (seconds > 0) largest = std::max(largest, std::abs(expected / seconds - 1));
    }
    errors.push_back(largest);
  }
  return median(errors);
}

/// What even attention could bring, had nothing else changed: of the slowest rank's attention the
/// part above the mean of its batch, counted by the plans, would go.
struct PossibleGain {
  double max_over_mean = 0;    // of the attention that the plans give to ranks, over all steps
  double attention_share = 0;  // of the steps' seconds, on the rank with most attention
  double throughput = 0;       // of all steps together, over the measured
};

PossibleGain possible_gain(const StrategySteps& result) {
  double most = 0, mean = 0, seconds = 0, attention = 0, even = 0;
  for (const StepReport& step : result.steps) {
    const std::vector<double>& work = step.rank_predicted_attention;
    const double slowest = std::ranges::max(work);
    const double average =
        std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(work.size());
    double attended = 0;
    for (const RankTimes& times : step.rank_times)
      attended = std::max(attended, times.lanes[Lane::kAttention]);
    most += slowest;
    mean += average;
    seconds += step.seconds;
    attention += attended;
    even += step.seconds - (slowest > 0 ? attended * (1 - average / slowest) : 0);
  }
  return {.max_over_mean = mean > 0 ? most / mean : 1,
          .attention_share = attention / seconds,
          .throughput = seconds / even};
}

/// Everything measured is a median over the same steps, bytes a mean: they differ with the batch,
/// not with the machine.
Json row_of(const StrategySteps& result, const StrategySteps& reference) {
  Json seconds = Json::array(), losses = Json::array();
  double bytes = 0;
  for (const StepReport& step : result.steps) {
    seconds.push_back(step.seconds);
    losses.push_back(step.loss);
    bytes += static_cast<double>(step.sent_bytes());
  }
  const std::optional<double> error = prediction_error(result);
  return {
      {"name", result.strategy},
      {"attention_prediction_error", error ? Json(*error) : Json()},
      {"step_seconds_median", median_seconds(result)},
      {"step_seconds", seconds},
      {"tokens_per_second",
       median_of(result, [](const StepReport& step) { return step.tokens_per_second(); })},
      {"attention_max_over_mean",
       median_of(result, [](const StepReport& step) { return step.attention_max_over_mean(); })},
      {"bytes_per_step", bytes / static_cast<double>(result.steps.size())},
      {"losses", losses},
      {"peak_memory_bytes", peak_memory(result)},
      {"largest_loss_difference", largest_loss_difference(result, reference)},
      {"step_throughput_over_first", median_seconds(reference) / median_seconds(result)},
      {"total_throughput_over_first", total_seconds(reference) / total_seconds(result)}};
}

std::string format(const char* pattern, double value) {
  char text[96];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

/// "7 % slower" or "8 % faster", by a ratio of throughputs.
std::string faster(double ratio) {
  const double percent = std::round(100 * (ratio - 1));
  return cat(format("%.0f", std::abs(percent)), percent < 0 ? " % slower" : " % faster");
}

/// Beside the first strategy: what was possible, and what the others measured.
std::string gains_to_text(const std::vector<StrategySteps>& results) {
  if (results.size() < 2) return "";
  const StrategySteps& first = results.front();
  const PossibleGain gain = possible_gain(first);
  std::string text = cat("possible: with even attention the whole run of ", first.strategy,
                         " would be ", faster(gain.throughput), " (its slowest rank has ",
                         format("%.2f", gain.max_over_mean), " × the mean attention, which is ",
                         format("%.0f", 100 * gain.attention_share), " % of its time)\n");
  for (size_t i = 1; i < results.size(); ++i) {
    const Json row = row_of(results[i], first);
    text += cat("measured: ", results[i].strategy, ": median step ",
                faster(row["step_throughput_over_first"].get<double>()), ", whole run ",
                faster(row["total_throughput_over_first"].get<double>()), " than ", first.strategy,
                "; losses differ by at most ",
                format("%.1e", row["largest_loss_difference"].get<double>()), " (relative)\n");
  }
  return text;
}

}  // namespace

Json compare_to_json(const std::vector<StrategySteps>& results) {
  Json rows = Json::array();
  for (const StrategySteps& result : results) rows.push_back(row_of(result, results.front()));
  const PossibleGain gain = possible_gain(results.front());
  return {{"strategies", rows},
          {"possible",
           {{"attention_max_over_mean", gain.max_over_mean},
            {"attention_share", gain.attention_share},
            {"total_throughput_over_first", gain.throughput}}}};
}

std::string compare_to_text(const std::vector<StrategySteps>& results) {
  constexpr double kMiB = 1.0 / (1 << 20);
  Table table({{.key = "name", .title = "strategy"},
               {.key = "step_seconds_median", .title = "step, median", .unit = "s"},
               {.key = "tokens_per_second", .title = "tokens/s", .decimals = 0},
               {.key = "attention_max_over_mean", .title = "attention max/mean", .decimals = 2},
               {.key = "bytes_per_step",
                .title = "exchanged per step",
                .unit = "MiB",
                .decimals = 1,
                .scale = kMiB},
               {.key = "peak_memory_bytes",
                .title = "peak memory",
                .unit = "MiB",
                .decimals = 0,
                .scale = kMiB},
               {.key = "first_loss", .title = "first loss", .decimals = 4},
               {.key = "last_loss", .title = "last loss", .decimals = 4}});
  std::string remarks;
  for (const StrategySteps& result : results) {
    const auto error = prediction_error(result);
    if (!error) continue;
    remarks += cat(result.strategy, ": attention of the worst rank predicted within ",
                   format("%.0f", 100 * *error), " % (median step)\n");
  }
  const StrategySteps& reference = results.front();
  for (const StrategySteps& result : results) {
    const Json row = row_of(result, reference);
    table.add_row({result.strategy, row["step_seconds_median"].get<double>(),
                   row["tokens_per_second"].get<double>(),
                   row["attention_max_over_mean"].get<double>(),
                   row["bytes_per_step"].get<double>(), std::ranges::max(peak_memory(result)),
                   result.steps.front().loss, result.steps.back().loss});
  }
  return table.to_text() + remarks + gains_to_text(results);
}

}  // namespace cadenza
