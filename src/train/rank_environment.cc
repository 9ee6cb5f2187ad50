#include "train/rank_environment.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "comm/c10d/c10d_group.h"
#include "comm/inproc.h"
#include "model/llama.h"

namespace cadenza {
namespace {

RankEnvironment join(const RankOptions& options) {
  RankEnvironment rank;
  rank.place = rendezvous_from_environment().value_or(Rendezvous{});
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  rank.threads = options.threads > 0 ? options.threads : std::max(1, cores / rank.place.local_size);
  set_model_threads(rank.threads);
  rank.backend = make_cpu_backend(rank.threads);
  if (rank.place.size == 1) {
    rank.group = std::move(make_inproc_groups(1).front());
  } else {
    set_log_rank(rank.place.rank);
    rank.group = join_c10d(rank.place, Deadline::after_seconds(options.deadline_seconds));
  }
  return rank;
}

}  // namespace

void run_as_rank(const RankOptions& options, const std::function<void(RankEnvironment&)>& body) {
  install_interrupt_handler();
  count_model_memory();
  RankEnvironment rank = join(options);
  try {
    body(rank);
  } catch (const PeerError& error) {
    rank.group->leave(error.what());
    throw_if_interrupted();  // then the peer did not fail: it stopped as this one was asked to
    throw;
  } catch (const std::exception& error) {
    rank.group->leave(error.what());
    throw;
  }
}

}  // namespace cadenza
