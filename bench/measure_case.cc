#include "bench/measure_case.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "bench/seconds_of.h"

namespace cadenza::bench {
namespace {

constexpr int64_t kFewestRounds = 3, kMostRounds = 15;
constexpr double kPatience = 2.5;  // times the share

/// The variants of a case with their memory.
class CaseRun {
 public:
  CaseRun(const Case& one, const MeasureSettings& settings, Peaks& peaks)
      : settings_(settings), matmul_(peaks.matmul(settings.dtype)) {
    for (const Variant& variant : one.variants) {
      runs_.push_back(std::make_unique<VariantRun>(variant, settings.dtype, settings.phases,
                                                   settings.isa,
                                                   peaks.meter(variant.threads, settings.dtype)));
    }
  }

  void all_rounds() {
    const double first = seconds_of([&] { round("first round"); });
    for (const auto& run : runs_) run->check_against_torch();
    const RoundCount count = settings_.rounds > 0
                                 ? RoundCount{settings_.rounds, settings_.rounds >= kFewestRounds}
                                 : count_rounds(first, settings_.seconds);
    if (count.warm_up) {
      for (const auto& run : runs_) run->forget_rounds();
    }
    for (int64_t i = count.warm_up ? 0 : 1; i < count.rounds; ++i) {
      round(cat("round ", i + 1, " of ", count.rounds));
    }
  }

  std::vector<Result> results() const {
    std::vector<Result> all, baseline;
    for (const auto& run : runs_) {
      std::vector<Result> own = run->results();
      if (baseline.empty()) {
        baseline = own;
      } else {
        for (size_t i = 0; i < own.size(); ++i) compare(own[i], baseline[i]);
      }
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

 private:
  void round(const std::string& text) {
    settings_.progress(text);
    for (const auto& run : runs_) run->round();
    const double gflops = matmul_.sample();
    for (const auto& run : runs_) run->add_matmul(gflops);
  }

  static void compare(Result& result, const Result& baseline) {
    result.ratio_to = baseline.name;
    if (result.gflops && baseline.gflops) {
      result.throughput_ratio = *result.gflops / *baseline.gflops;
    }
  }

  const MeasureSettings& settings_;
  const TorchMatmul& matmul_;
  std::vector<std::unique_ptr<VariantRun>> runs_;
};

std::vector<Result> failed(const Case& one, const MeasureSettings& settings,
                           const std::string& error) {
  std::vector<Result> out;
  for (const Variant& variant : one.variants) {
    for (const auto& [wanted, phase] :
         {std::pair(settings.phases.forward, "forward"),
          std::pair(settings.phases.forward_backward, "forward_backward")}) {
      if (!wanted) continue;
      out.push_back({.name = variant.name,
                     .dtype = dtype_name(settings.dtype),
                     .phase = phase,
                     .isa = settings.isa,
                     .threads = variant.threads,
                     .note = variant.note,
                     .error = error});
    }
  }
  return out;
}

}  // namespace

double round_cost(const Case& one, Phases phases) {
  double cost = 0;
  const double passes = phases.forward_backward ? 3.5 : 1;  // forward operations
  for (const Variant& variant : one.variants) {
    cost += passes * forward_flops(variant.work);
    if (variant.torch) cost += passes * forward_cost(*variant.torch, variant.work);
  }
  return cost;
}

RoundCount count_rounds(double first_seconds, double seconds) {
  const double fitting = seconds / first_seconds;
  if (fitting * kPatience >= 1 + kFewestRounds) {
    return {
        std::clamp(static_cast<int64_t>(std::min(fitting, 1e6)) - 1, kFewestRounds, kMostRounds),
        true};
  }
  return {std::clamp(static_cast<int64_t>(fitting * kPatience), int64_t{1}, kFewestRounds), false};
}

std::vector<Result> measure_case(const Case& one, const MeasureSettings& settings, Peaks& peaks) {
  std::unique_ptr<CaseRun> run;
  try {
    run = std::make_unique<CaseRun>(one, settings, peaks);
    run->all_rounds();
  } catch (const Interrupted&) {
    // Rounds that were complete stay.
  } catch (const std::bad_alloc&) {
    return failed(one, settings, "not enough memory");
  } catch (const std::exception& e) {
    return failed(one, settings, e.what());
  }
  std::vector<Result> results = run ? run->results() : std::vector<Result>{};
  std::erase_if(results, [](const Result& result) { return result.rounds == 0; });
  return results;
}

}  // namespace cadenza::bench
