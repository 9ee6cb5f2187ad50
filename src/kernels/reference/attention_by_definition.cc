#include "kernels/reference/attention_by_definition.h"

#include <cmath>
#include <limits>

namespace cadenza {
namespace {

constexpr double kNoKeys = -std::numeric_limits<double>::infinity();

/// The softmax of one row of one head over the keys that it sees.
struct Row {
  int64_t row, head, kv_head;
  std::vector<int64_t> keys;
  std::vector<double> probabilities;  // of `keys`
  double sink_probability = 0;
  double lse = kNoKeys;
};

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

Row softmax_of_row(const DefinedAttention& a, int64_t row, int64_t head) {
  const AttentionShape& s = a.shape;
  Row out{.row = row, .head = head, .kv_head = head / (s.heads / s.kv_heads)};
  const double sink = a.sinks.empty() ? kNoKeys : a.sinks[static_cast<size_t>(head)];
  double largest = sink;
  for (int64_t key = 0; key < a.k.rows; ++key) {
    if (!a.sees(row, key)) continue;
    out.keys.push_back(key);
    const double score = s.scale * dot(a.q.f32(row, head), a.k.f32(key, out.kv_head), s.head_dim);
    out.probabilities.push_back(score);
    if (!(score <= largest)) largest = score;  // a NaN stays the largest
  }
  if (largest == kNoKeys) return out;
  double sum = out.sink_probability = std::exp(sink - largest);
  for (double& p : out.probabilities) sum += p = std::exp(p - largest);
  for (double& p : out.probabilities) p /= sum;
  out.sink_probability /= sum;
  out.lse = largest + std::log(sum);
  return out;
}

template <typename Body>
void for_rows(const DefinedAttention& a, const Body& body) {
  for (int64_t row = 0; row < a.q.rows; ++row) {
    for (int64_t head = 0; head < a.shape.heads; ++head) body(softmax_of_row(a, row, head));
  }
}

double* at(std::vector<double>& packed, int64_t row, int64_t heads, int64_t head, int64_t dim) {
  return packed.data() + (row * heads + head) * dim;
}

void add(double factor, const float* x, int64_t dim, double* sum) {
  for (int64_t d = 0; d < dim; ++d) sum[d] += factor * x[d];
}

/// dS_j = P_j (dP_j - Σ P_i dP_i) over keys and sink; the sink's dP is zero, for it has no value.
void add_row_gradients(const DefinedAttention& a, const RowsView& d_o, const Row& r,
                       DefinedGradients& out) {
  const AttentionShape& s = a.shape;
  const float* d_row = d_o.f32(r.row, r.head);
  std::vector<double> dp;
  double mean = 0;
  for (size_t i = 0; i < r.keys.size(); ++i) {
    dp.push_back(dot(d_row, a.v.f32(r.keys[i], r.kv_head), s.v_head_dim));
    mean += r.probabilities[i] * dp[i];
  }
  for (size_t i = 0; i < r.keys.size(); ++i) {
    const int64_t key = r.keys[i];
    const double p = r.probabilities[i], ds = s.scale * p * (dp[i] - mean);
    add(ds, a.k.f32(key, r.kv_head), s.head_dim, at(out.dq, r.row, s.heads, r.head, s.head_dim));
    add(ds, a.q.f32(r.row, r.head), s.head_dim, at(out.dk, key, s.kv_heads, r.kv_head, s.head_dim));
    add(p, d_row, s.v_head_dim, at(out.dv, key, s.kv_heads, r.kv_head, s.v_head_dim));
  }
  if (!a.sinks.empty()) out.d_sinks[static_cast<size_t>(r.head)] -= r.sink_probability * mean;
}

}  // namespace

ReferenceForward defined_forward(const DefinedAttention& attention) {
  ReferenceForward out;
  for_rows(attention, [&](const Row& r) {
    out.lse.push_back(r.lse);
    std::vector<double> o(static_cast<size_t>(attention.shape.v_head_dim));
    for (size_t i = 0; i < r.keys.size(); ++i) {
      const float* v = attention.v.f32(r.keys[i], r.kv_head);
      add(r.probabilities[i], v, attention.shape.v_head_dim, o.data());
    }
    out.o.insert(out.o.end(), o.begin(), o.end());
  });
  return out;
}

DefinedGradients defined_backward(const DefinedAttention& attention, const RowsView& d_o) {
  const auto zeros = [](const RowsView& like) {
    return std::vector<double>(static_cast<size_t>(like.rows * like.heads * like.dim));
  };
  DefinedGradients out{.dq = zeros(attention.q),
                       .dk = zeros(attention.k),
                       .dv = zeros(attention.v),
                       .d_sinks = std::vector<double>(attention.sinks.size())};
  for_rows(attention, [&](const Row& r) { add_row_gradients(attention, d_o, r, out); });
  return out;
}

}  // namespace cadenza
