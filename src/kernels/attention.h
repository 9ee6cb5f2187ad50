#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/rows_view.h"

namespace cadenza {

/// Sizes and scale of one attention call. Query head h reads kv head h / (heads / kv_heads);
/// kv_heads divides heads.
struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;    // of Q and K
  int64_t v_head_dim = 0;  // of V and O
  float scale = 0.0f;      // multiplies QKᵀ; 1/sqrt(head_dim) in Llama
};

/// One task of a fused batch, in rows of the call's buffers. Query row q_begin + i sees key row
/// kv_begin + j exactly where lowest <= j - i <= highest. Ranges of different tasks may overlap, in
/// queries and in keys.
struct AttentionTask {
  int64_t q_begin = 0, q_rows = 0;
  int64_t kv_begin = 0, kv_rows = 0;
  int64_t lowest = 0, highest = 0;       // Band::kUnboundedBelow / kUnboundedAbove where open
  int64_t head_begin = 0, head_end = 0;  // query heads
  // Forward: false writes (O, LSE) of these rows × heads, true merges into what they hold.
  bool merge = false;
};

/// Runs body(i) for every i in [0, count), in any order and on any threads, and returns when all
/// are done.
using ParallelFor = std::function<void(int64_t count, const std::function<void(int64_t)>& body)>;

/// Inputs and outputs of a forward call. Tasks run as if in the order of the span: a task with
/// `merge` merges into the result of the tasks before it. Rows that no task names are not touched.
/// A query that sees no key gives O = 0, LSE = -inf. LSE is the natural logarithm.
struct ForwardArgs {
  AttentionShape shape;
  std::span<const AttentionTask> tasks;
  RowsView q, k, v;  // [rows, heads or kv_heads, head_dim or v_head_dim], of one dtype
  RowsView o;        // [q rows, heads, v_head_dim], of any dtype; a call rounds a row to it once
  RowsView lse;      // [q rows, heads, 1] fp32
};

/// Inputs and outputs of a backward call: adds into dq, dk, dv. `lse` is that of the whole row over
/// all its keys, and `delta` = rowsum(dO ∘ O) of the whole row, so that parts of a row's keys can
/// be computed apart (FlashAttention-2, section 3.1). Rows with LSE = -inf contribute nothing.
struct BackwardArgs {
  AttentionShape shape;
  std::span<const AttentionTask> tasks;
  RowsView q, k, v;     // of one dtype
  RowsView d_o;         // [q rows, heads, v_head_dim], of any dtype
  RowsView lse, delta;  // [q rows, heads, 1] fp32
  RowsView dq, dk, dv;  // fp32; added into
};

/// Throws InternalError naming the task and the field when ranges leave the buffers, shapes or
/// dtypes disagree, or kv_heads does not divide heads. Every implementation calls them first,
/// before it touches memory.
void check_args(const ForwardArgs& args);
void check_args(const BackwardArgs& args);

}  // namespace cadenza
