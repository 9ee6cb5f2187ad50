#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention.h"

namespace cadenza::bench {

/// The attention of one fused call, before it has memory: buffers of q_rows and kv_rows rows, and
/// tasks on them.
struct Work {
  AttentionShape shape;
  int64_t q_rows = 0, kv_rows = 0;
  std::vector<AttentionTask> tasks;
};

/// (query, key, query head) triples that the tasks compute.
int64_t count_triples(const Work& work);

/// Useful operations: two products of head_dim and v_head_dim a triple forward; five backward (QKᵀ
/// again, dQ and dK with head_dim, dP and dV with v_head_dim). With equal dims 4·pairs·heads·dim
/// and 2.5 times that.
double forward_flops(const Work& work);
double backward_flops(const Work& work);

/// How PyTorch, which has no fused batch, does the same work.
struct TorchWork {
  enum class Form {
    kCalls,      // one call a task
    kBatch,      // tasks of one shape, one after another in the buffers, as one batched call
    kDenseMask,  // one call on all rows with a mask of q_rows × kv_rows
  };
  Form form = Form::kCalls;
  std::vector<AttentionTask> calls;
  // Query heads that are computed, the first ones; the time is scaled up to all.
  int64_t heads = 0;
  std::string description;
};

/// Operations that the calls take, masked ones included: what their time is guessed from.
double forward_cost(const TorchWork& torch, const Work& work);

/// Bands as PyTorch knows them: a whole rectangle, or is_causal (aligned top left) on a square.
bool is_full(const AttentionTask& task);
bool is_causal_square(const AttentionTask& task);

}  // namespace cadenza::bench
