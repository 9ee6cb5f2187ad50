#pragma once

#include <span>
#include <vector>

#include "kernels/attention.h"
#include "program/rank_program.h"

namespace cadenza {

/// A program's tasks as the kernels take them: those of a round together, in task-id order within
/// it.
struct RoundTasks {
  explicit RoundTasks(const RankProgram& program);
  std::span<const AttentionTask> all() const { return tasks; }
  std::span<const AttentionTask> of_round(size_t round) const {
    return std::span(tasks).subspan(first[round], first[round + 1] - first[round]);
  }

  std::vector<AttentionTask> tasks;
  std::vector<size_t> first;  // of each round, and the end
};

}  // namespace cadenza
