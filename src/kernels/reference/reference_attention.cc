#include "kernels/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "core/range.h"

namespace cadenza {
namespace {

constexpr double kEmpty = -std::numeric_limits<double>::infinity();

/// Key rows of the buffer that query row task.q_begin + i sees.
Range visible_keys(const AttentionTask& task, int64_t i) {
  const int64_t begin = std::max<int64_t>(0, i + task.lowest);
  const int64_t end = std::min(task.kv_rows - 1, i + task.highest) + 1;
  return begin < end ? Range{task.kv_begin + begin, task.kv_begin + end} : Range{};
}

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

size_t at(int64_t row, int64_t heads, int64_t head) {
  return static_cast<size_t>(row * heads + head);
}

/// One query row of one head over `keys`: writes o (already sized) and returns the LSE. The largest
/// score is NaN where a score is NaN, so that a NaN always shows.
double attend_row(const ForwardArgs& args, int64_t row, int64_t head, Range keys,
                  std::vector<double>& o) {
  const AttentionShape& s = args.shape;
  const int64_t kv_head = head / (s.heads / s.kv_heads);
  std::vector<double> scores;
  double largest = kEmpty;
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    scores.push_back(s.scale * dot(args.q.f32(row, head), args.k.f32(key, kv_head), s.head_dim));
    if (!(scores.back() <= largest)) largest = scores.back();
  }
  std::fill(o.begin(), o.end(), 0.0);
  if (largest == kEmpty) return kEmpty;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    const double p = std::exp(scores[static_cast<size_t>(key - keys.begin)] - largest) / sum;
    const float* v = args.v.f32(key, kv_head);
    for (size_t d = 0; d < o.size(); ++d) o[d] += p * v[d];
  }
  return largest + std::log(sum);
}

/// Merges the partial (o, lse) into (into_o, into_lse).
void merge_row(const std::vector<double>& o, double lse, double* into_o, double& into_lse) {
  if (lse == kEmpty) return;
  const double old = into_lse;
  const double largest = std::isnan(lse) ? lse : std::max(old, lse);
  const double sum = std::exp(old - largest) + std::exp(lse - largest);
  into_lse = old == kEmpty ? lse : largest + std::log(sum);
  for (size_t d = 0; d < o.size(); ++d) {
    const double kept = old == kEmpty ? 0.0 : std::exp(old - into_lse) * into_o[d];
    into_o[d] = kept + std::exp(lse - into_lse) * o[d];
  }
}

void run_task(const ForwardArgs& args, const AttentionTask& task, ReferenceForward& out) {
  const int64_t v_dim = args.shape.v_head_dim;
  std::vector<double> o(static_cast<size_t>(v_dim));
  for (int64_t i = 0; i < task.q_rows; ++i) {
    for (int64_t head = task.head_begin; head < task.head_end; ++head) {
      const int64_t row = task.q_begin + i;
      const double lse = attend_row(args, row, head, visible_keys(task, i), o);
      const size_t index = at(row, args.shape.heads, head);
      double* into = out.o.data() + index * static_cast<size_t>(v_dim);
      if (task.merge) {
        merge_row(o, lse, into, out.lse[index]);
      } else {
        std::copy(o.begin(), o.end(), into);
        out.lse[index] = lse;
      }
    }
  }
}

/// dS = P ∘ (dP − delta), dV += Pᵀ dO, dQ += scale · dS K, dK += scale · dSᵀ Q (FlashAttention-2,
/// section 2.3.2).
void add_pair(const BackwardArgs& args, int64_t row, int64_t head, int64_t key,
              ReferenceBackward& out) {
  const AttentionShape& s = args.shape;
  const int64_t kv_head = head / (s.heads / s.kv_heads);
  const float* q = args.q.f32(row, head);
  const float* k = args.k.f32(key, kv_head);
  const float* d_o = args.d_o.f32(row, head);
  const double score = s.scale * dot(q, k, s.head_dim);
  const double p = std::exp(score - *args.lse.f32(row, head));
  const double dp = dot(d_o, args.v.f32(key, kv_head), s.v_head_dim);
  const double ds = s.scale * p * (dp - *args.delta.f32(row, head));
  double* dq = out.dq.data() + at(row, s.heads, head) * static_cast<size_t>(s.head_dim);
  double* dk = out.dk.data() + at(key, s.kv_heads, kv_head) * static_cast<size_t>(s.head_dim);
  double* dv = out.dv.data() + at(key, s.kv_heads, kv_head) * static_cast<size_t>(s.v_head_dim);
  for (int64_t d = 0; d < s.head_dim; ++d) dq[d] += ds * k[d];
  for (int64_t d = 0; d < s.head_dim; ++d) dk[d] += ds * q[d];
  for (int64_t d = 0; d < s.v_head_dim; ++d) dv[d] += p * d_o[d];
}

}  // namespace

std::vector<double> as_doubles(const RowsView& view) {
  CADENZA_CHECK(view.device == Device::kCpu);
  std::vector<double> out;
  out.reserve(static_cast<size_t>(view.rows * view.heads * view.dim));
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t head = 0; head < view.heads; ++head) {
      for (int64_t d = 0; d < view.dim; ++d) {
        out.push_back(view.dtype == Dtype::kFloat32 ? view.f32(row, head)[d]
                                                    : to_float(view.bf16(row, head)[d]));
      }
    }
  }
  return out;
}

ReferenceForward reference_forward(const ForwardArgs& args) {
  check_args(args);
  ReferenceForward out{as_doubles(args.o), as_doubles(args.lse)};
  for (const AttentionTask& task : args.tasks) run_task(args, task, out);
  return out;
}

ReferenceBackward reference_backward(const BackwardArgs& args) {
  check_args(args);
  ReferenceBackward out{as_doubles(args.dq), as_doubles(args.dk), as_doubles(args.dv)};
  for (const AttentionTask& task : args.tasks) {
    for (int64_t i = 0; i < task.q_rows; ++i) {
      const Range keys = visible_keys(task, i);
      for (int64_t head = task.head_begin; head < task.head_end; ++head) {
        const int64_t row = task.q_begin + i;
        if (*args.lse.f32(row, head) == -std::numeric_limits<float>::infinity()) continue;
        for (int64_t key = keys.begin; key < keys.end; ++key) add_pair(args, row, head, key, out);
      }
    }
  }
  return out;
}

}  // namespace cadenza
