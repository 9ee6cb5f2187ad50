#include "bench/work.h"

#include "core/piece.h"

namespace cadenza::bench {
namespace {

int64_t task_pairs(const AttentionTask& task) {
  return count_pairs({{0, task.q_rows}, {0, task.kv_rows}, {task.lowest, task.highest}});
}

}  // namespace

int64_t count_triples(const Work& work) {
  int64_t triples = 0;
  for (const AttentionTask& task : work.tasks) {
    triples += task_pairs(task) * (task.head_end - task.head_begin);
  }
  return triples;
}

double forward_flops(const Work& work) {
  return 2.0 * static_cast<double>(count_triples(work)) *
         static_cast<double>(work.shape.head_dim + work.shape.v_head_dim);
}

double backward_flops(const Work& work) {
  return 2.0 * static_cast<double>(count_triples(work)) *
         static_cast<double>(3 * work.shape.head_dim + 2 * work.shape.v_head_dim);
}

bool is_full(const AttentionTask& task) {
  return task.lowest <= 1 - task.q_rows && task.highest >= task.kv_rows - 1;
}

bool is_causal_square(const AttentionTask& task) {
  return task.q_rows == task.kv_rows && task.lowest <= 1 - task.q_rows && task.highest == 0;
}

double forward_cost(const TorchWork& torch, const Work& work) {
  double pairs = 0;
  if (torch.form == TorchWork::Form::kDenseMask) {
    pairs = static_cast<double>(work.q_rows) * static_cast<double>(work.kv_rows);
  } else {
    for (const AttentionTask& call : torch.calls) {
      pairs += static_cast<double>(is_causal_square(call) ? task_pairs(call)
                                                          : call.q_rows * call.kv_rows);
    }
  }
  // V is padded to head_dim where it is narrower.
  return 4 * pairs * static_cast<double>(torch.heads * work.shape.head_dim);
}

}  // namespace cadenza::bench
