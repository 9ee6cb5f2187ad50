#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/peaks.h"
#include "bench/result.h"
#include "bench/variant_run.h"

namespace cadenza::bench {

struct MeasureSettings {
  Dtype dtype = Dtype::kFloat32;
  Phases phases;
  std::string isa;     // empty: the one that the kernels choose
  int64_t rounds = 0;  // 0: as many as fit
  double seconds = 0;  // that this case should take
  std::function<void(const std::string& text)> progress;
};

/// Operations of one round, both sides.
double round_cost(const Case& one, Phases phases);

/// How many rounds to count when the first took `first_seconds` of `seconds`: 3 to 15 after the
/// first, which is then warm-up; where 3 would take far too long (2.5 times the share), `warm_up`
/// is false and 1 to 3 count, the first included.
struct RoundCount {
  int64_t rounds = 1;
  bool warm_up = false;
};
RoundCount count_rounds(double first_seconds, double seconds);

/// Measures all variants of a case in turn. What cannot be measured comes back as rows with an
/// error; what an interrupt cut short, with the rounds that were complete.
std::vector<Result> measure_case(const Case& one, const MeasureSettings& settings, Peaks& peaks);

}  // namespace cadenza::bench
