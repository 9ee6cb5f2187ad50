#include <string>

#include "base/cat.h"
#include "base/error.h"
#include "kernels/attention.h"

namespace cadenza {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw InternalError(cat("[kernels/attention] ", what, "; correct the caller's arguments"));
}

void check_shape(const AttentionShape& shape) {
  if (shape.heads < 1 || shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0) {
    refuse(cat("expected kv_heads >= 1 to divide heads >= 1, got kv_heads ", shape.kv_heads,
               " and heads ", shape.heads));
  }
  if (shape.head_dim < 1 || shape.v_head_dim < 1) {
    refuse(cat("expected head_dim and v_head_dim >= 1, got ", shape.head_dim, " and ",
               shape.v_head_dim));
  }
}

/// What a view must be. Rows of all views of one side (query or key) agree.
struct Expected {
  int64_t rows, heads, dim;
};

void check_view(const char* name, const RowsView& view, const Expected& expected) {
  if (view.rows != expected.rows || view.heads != expected.heads || view.dim != expected.dim) {
    refuse(cat("expected ", name, " of [", expected.rows, ", ", expected.heads, ", ", expected.dim,
               "], got [", view.rows, ", ", view.heads, ", ", view.dim, "]"));
  }
  if (view.rows > 0 && view.data == nullptr) {
    refuse(cat("expected memory behind the ", view.rows, " rows of ", name, ", got null"));
  }
}

void check_fp32(const char* name, const RowsView& view) {
  if (view.dtype != Dtype::kFloat32) {
    refuse(cat("expected ", name, " in fp32, got ", dtype_name(view.dtype)));
  }
}

/// One matrix product reads both.
void check_as_q(const char* name, const RowsView& view, const RowsView& q) {
  if (view.dtype != q.dtype) {
    refuse(
        cat("expected ", name, " in ", dtype_name(q.dtype), " as q, got ", dtype_name(view.dtype)));
  }
}

/// Twice what Band uses for open ends: bounds that were shifted by a document's length pass, sums
/// with rows do not overflow.
constexpr int64_t kBandLimit = int64_t{1} << 62;

/// Written so that no sum of task fields can overflow.
void check_range(size_t task, const char* name, int64_t begin, int64_t count, int64_t limit) {
  if (begin < 0 || count < 0 || begin > limit || count > limit - begin) {
    refuse(cat("task ", task, ": expected ", name, " within [0, ", limit, "), got begin ", begin,
               " and count ", count));
  }
}

void check_tasks(std::span<const AttentionTask> tasks, int64_t heads, int64_t q_rows,
                 int64_t kv_rows) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    const AttentionTask& task = tasks[i];
    check_range(i, "q_begin and q_rows", task.q_begin, task.q_rows, q_rows);
    check_range(i, "kv_begin and kv_rows", task.kv_begin, task.kv_rows, kv_rows);
    if (task.lowest < -kBandLimit || task.highest > kBandLimit) {
      refuse(cat("task ", i, ": expected lowest and highest within ±2^62, got ", task.lowest,
                 " and ", task.highest));
    }
    if (task.head_begin < 0 || task.head_end < task.head_begin || task.head_end > heads) {
      refuse(cat("task ", i, ": expected 0 <= head_begin <= head_end <= ", heads,
                 ", got head_begin ", task.head_begin, " and head_end ", task.head_end));
    }
  }
}

}  // namespace

void check_args(const ForwardArgs& args) {
  const AttentionShape& s = args.shape;
  check_shape(s);
  check_view("q", args.q, {args.q.rows, s.heads, s.head_dim});
  check_view("k", args.k, {args.k.rows, s.kv_heads, s.head_dim});
  check_view("v", args.v, {args.k.rows, s.kv_heads, s.v_head_dim});
  check_view("o", args.o, {args.q.rows, s.heads, s.v_head_dim});
  check_view("lse", args.lse, {args.q.rows, s.heads, 1});
  check_as_q("k", args.k, args.q);
  check_as_q("v", args.v, args.q);
  check_fp32("lse", args.lse);
  check_tasks(args.tasks, s.heads, args.q.rows, args.k.rows);
}

void check_args(const BackwardArgs& args) {
  const AttentionShape& s = args.shape;
  check_shape(s);
  check_view("q", args.q, {args.q.rows, s.heads, s.head_dim});
  check_view("k", args.k, {args.k.rows, s.kv_heads, s.head_dim});
  check_view("v", args.v, {args.k.rows, s.kv_heads, s.v_head_dim});
  check_view("d_o", args.d_o, {args.q.rows, s.heads, s.v_head_dim});
  check_view("lse", args.lse, {args.q.rows, s.heads, 1});
  check_view("delta", args.delta, {args.q.rows, s.heads, 1});
  check_view("dq", args.dq, {args.q.rows, s.heads, s.head_dim});
  check_view("dk", args.dk, {args.k.rows, s.kv_heads, s.head_dim});
  check_view("dv", args.dv, {args.k.rows, s.kv_heads, s.v_head_dim});
  check_as_q("k", args.k, args.q);
  check_as_q("v", args.v, args.q);
  check_fp32("lse", args.lse);
  check_fp32("delta", args.delta);
  check_fp32("dq", args.dq);
  check_fp32("dk", args.dk);
  check_fp32("dv", args.dv);
  check_tasks(args.tasks, s.heads, args.q.rows, args.k.rows);
}

}  // namespace cadenza
