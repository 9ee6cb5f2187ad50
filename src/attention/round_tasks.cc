#include "attention/round_tasks.h"

#include <algorithm>

namespace cadenza {

RoundTasks::RoundTasks(const RankProgram& program) : first(program.rounds.size() + 1, 0) {
  std::vector<AttendTask> by_round = program.tasks;
  std::ranges::stable_sort(by_round, {}, &AttendTask::round);
  tasks.reserve(by_round.size());
  for (const AttendTask& task : by_round) {
    ++first[static_cast<size_t>(task.round) + 1];
    tasks.push_back({.q_begin = task.q.begin,
                     .q_rows = task.q.size(),
                     .kv_begin = task.kv.begin,
                     .kv_rows = task.kv.size(),
                     .lowest = task.band.lowest,
                     .highest = task.band.highest,
                     .head_begin = task.heads.begin,
                     .head_end = task.heads.end,
                     .merge = task.merge});
  }
  for (size_t round = 1; round < first.size(); ++round) first[round] += first[round - 1];
}

}  // namespace cadenza
