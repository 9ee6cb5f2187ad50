#pragma once

#include <functional>
#include <string>

#include "core/cost/profile.h"
#include "kernels/backend.h"

namespace cadenza {

struct ProfileOptions {
  ModelShape shape;
  double budget_seconds = 60;  // about: the grid is made as large as it allows
  int repeats = 5;             // visits to each point at least
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// Measures the backend's attention on a grid of query × key lengths, both phases, and among them
/// on points that are not of the grid: random rectangles, causal pieces and fused batches, from
/// which the profile's own error comes. All are visited in turn, at least `repeats` times, and the
/// fastest visit counts: what others do on the machine only adds time.
Profile measure_profile(Backend& backend, const std::string& kernel, const ProfileOptions& options);

}  // namespace cadenza
