#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "train/rank_environment.h"

namespace cadenza {

/// A verb that may run on several ranks.
struct RankedVerb {
  int nproc = 0;  // --nproc; 0 = not given
  RankOptions options;
  std::function<void()> check_inputs;  // throws before any rank is started
  std::function<void(RankEnvironment&)> body;
};

/// Runs the body as one rank where a launcher started this process (ours, torchrun, mpirun, srun)
/// or one rank is enough; else starts nproc copies of this command and waits for them. Returns the
/// exit code.
int run_ranked(const RankedVerb& verb);

/// ConfigError unless --nproc is at least 1.
void check_nproc(int nproc);

/// What made a run: provenance, ranks, threads, and the resolved settings.
Json made_by(const RankEnvironment& rank, const Json& settings);

}  // namespace cadenza
