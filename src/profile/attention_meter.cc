#include "profile/attention_meter.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/rng.h"

namespace cadenza {
namespace {

/// A call holds at most so many copies of a piece: a server's share of a packed batch.
constexpr int64_t kMostCopies = 64;

constexpr Dtype kFloat = Dtype::kFloat32;

template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Small numbers of either sign: scores as a trained model's, no denormals.
void fill_random(const RowsView& view, uint64_t seed) {
  Rng rng(seed);
  const int64_t elements = view.rows * view.heads * view.dim;
  for (int64_t i = 0; i < elements; ++i) {
    const auto value = static_cast<float>(static_cast<int64_t>(rng() % 201) - 100) / 100.0f;
    if (view.dtype == kFloat) {
      static_cast<float*>(view.data)[i] = value;
    } else {
      static_cast<BFloat16*>(view.data)[i] = to_bf16(value);
    }
  }
}

}  // namespace

AttentionMeter::Rows::Rows(int64_t rows, int64_t heads, int64_t dim, Dtype dtype)
    : block(rows * heads * dim * dtype_bytes(dtype)),
      view(contiguous_rows(block.data(), dtype, rows, heads, dim)) {}

AttentionMeter::AttentionMeter(Backend& backend, const ModelShape& shape, int64_t q_rows,
                               int64_t kv_rows)
    : backend_(backend),
      shape_(shape),
      q_room_(std::max(q_rows, kMostCopies * 128)),
      q_(q_room_, shape.heads, shape.head_dim, shape.dtype),
      k_(kv_rows, shape.kv_heads, shape.head_dim, shape.dtype),
      v_(kv_rows, shape.kv_heads, shape.head_dim, shape.dtype),
      o_(q_room_, shape.heads, shape.head_dim, shape.dtype),
      lse_(q_room_, shape.heads, 1, kFloat),
      d_o_(q_room_, shape.heads, shape.head_dim, shape.dtype),
      delta_(q_room_, shape.heads, 1, kFloat),
      dq_(q_room_, shape.heads, shape.head_dim, kFloat),
      dk_(kv_rows, shape.kv_heads, shape.head_dim, kFloat),
      dv_(kv_rows, shape.kv_heads, shape.head_dim, kFloat) {
  uint64_t seed = 1;
  for (const Rows* rows : {&q_, &k_, &v_, &d_o_}) fill_random(rows->view, seed++);
  for (const Rows* rows : {&delta_, &dq_, &dk_, &dv_}) backend_.fill(rows->view, 0.0f);
}

AttentionMeter::Seconds AttentionMeter::call(const std::vector<AttentionTask>& tasks) {
  const AttentionShape shape{shape_.heads, shape_.kv_heads, shape_.head_dim, shape_.head_dim,
                             1.0f / std::sqrt(static_cast<float>(shape_.head_dim))};
  Seconds seconds;
  seconds.forward = seconds_of([&] {
    backend_.attention_forward({shape, tasks, q_.view, k_.view, v_.view, o_.view, lse_.view});
  });
  seconds.backward = seconds_of([&] {
    backend_.attention_backward({shape, tasks, q_.view, k_.view, v_.view, d_o_.view, lse_.view,
                                 delta_.view, dq_.view, dk_.view, dv_.view});
  });
  return seconds;
}

AttentionMeter::Seconds AttentionMeter::measure(const Piece& piece) {
  const int64_t pairs = std::max<int64_t>(1, count_pairs(piece));
  const int64_t wanted = std::clamp<int64_t>(kTimedPairs / pairs, 1, kMostCopies);
  const int64_t copies = std::clamp<int64_t>(q_room_ / piece.q.size(), 1, wanted);
  Seconds seconds = measure_batch(std::vector<Piece>(static_cast<size_t>(copies), piece));
  seconds.forward /= static_cast<double>(copies);
  seconds.backward /= static_cast<double>(copies);
  return seconds;
}

AttentionMeter::Seconds AttentionMeter::measure_batch(const std::vector<Piece>& pieces) {
  std::vector<AttentionTask> tasks;
  int64_t row = 0;
  for (const Piece& piece : pieces) {
    tasks.push_back({.q_begin = row,
                     .q_rows = piece.q.size(),
                     .kv_begin = 0,
                     .kv_rows = piece.kv.size(),
                     .lowest = piece.band.lowest,
                     .highest = piece.band.highest,
                     .head_begin = 0,
                     .head_end = shape_.heads});
    row += piece.q.size();
  }
  return call(tasks);
}

}  // namespace cadenza
