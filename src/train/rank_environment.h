#pragma once

#include <functional>
#include <memory>

#include "comm/group.h"
#include "comm/rendezvous.h"
#include "kernels/backend.h"

namespace cadenza {

/// One rank at work: its group, its kernels, its threads.
struct RankEnvironment {
  Rendezvous place;
  std::unique_ptr<Group> group;
  std::unique_ptr<Backend> backend;
  int threads = 1;
};

struct RankOptions {
  int threads = 0;  // 0: cores of the host / ranks on it, at least 1
  double deadline_seconds = 60;
};

/// Joins the ranks that a launcher started (cadenza --nproc, torchrun, mpirun, srun), or stands
/// alone where none did; sets thread counts and memory counting; runs `body`. When the body fails,
/// the others are told why before the error goes on.
void run_as_rank(const RankOptions& options, const std::function<void(RankEnvironment&)>& body);

}  // namespace cadenza
