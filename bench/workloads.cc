#include "bench/workloads.h"

#include <cmath>

#include "core/piece.h"

namespace cadenza::bench {
namespace {

AttentionTask task_of(const AttentionShape& shape, int64_t begin, int64_t rows, Band band) {
  return {.q_begin = begin,
          .q_rows = rows,
          .kv_begin = begin,
          .kv_rows = rows,
          .lowest = band.lowest,
          .highest = band.highest,
          .head_begin = 0,
          .head_end = shape.heads};
}

Work one_document(const AttentionShape& shape, int64_t tokens, Band band) {
  return {shape, tokens, tokens, {task_of(shape, 0, tokens, band)}};
}

}  // namespace

AttentionShape bench_shape(int64_t head_dim, int64_t v_head_dim) {
  return {.heads = 16,
          .kv_heads = 4,
          .head_dim = head_dim,
          .v_head_dim = v_head_dim == 0 ? head_dim : v_head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

Work causal_documents(const AttentionShape& shape, const std::vector<int64_t>& lengths) {
  Work work{shape, 0, 0, {}};
  for (const int64_t length : lengths) {
    work.tasks.push_back(task_of(shape, work.q_rows, length, Band::causal()));
    work.q_rows += length;
  }
  work.kv_rows = work.q_rows;
  return work;
}

Work window_document(const AttentionShape& shape, int64_t tokens, int64_t window) {
  return one_document(shape, tokens, {1 - window, 0});
}

TorchWork window_blocks(const AttentionShape& shape, int64_t tokens, int64_t window) {
  TorchWork torch{.form = TorchWork::Form::kCalls,
                  .calls = {task_of(shape, 0, window, Band::causal())},
                  .heads = shape.heads,
                  .description = "blocks of the window's size, masked"};
  for (int64_t begin = window; begin < tokens; begin += window) {
    AttentionTask call = task_of(shape, begin, window, {1, window});
    call.kv_begin = begin - window;
    call.kv_rows = 2 * window;
    torch.calls.push_back(call);
  }
  return torch;
}

Work full_document(const AttentionShape& shape, int64_t tokens) {
  return one_document(shape, tokens, Band::full());
}

Work long_kv_tasks(const AttentionShape& shape, int64_t documents, int64_t q_rows,
                   int64_t task_rows, int64_t keys) {
  // Queries are the positions [keys, keys + q_rows) of their document.
  Work work{shape, documents * q_rows, documents * (keys + q_rows), {}};
  for (int64_t document = 0; document < documents; ++document) {
    for (int64_t row = 0; row < q_rows; row += task_rows) {
      work.tasks.push_back({.q_begin = document * q_rows + row,
                            .q_rows = task_rows,
                            .kv_begin = document * (keys + q_rows) + row + task_rows,
                            .kv_rows = keys,
                            .lowest = Band::kUnboundedBelow,
                            .highest = keys - task_rows,
                            .head_begin = 0,
                            .head_end = shape.heads});
    }
  }
  return work;
}

Work thin_window_document(const AttentionShape& shape, int64_t tokens) {
  Work work = window_document(shape, tokens, 4);
  work.tasks.push_back(task_of(shape, 0, tokens, {1 - 5, 0}));
  work.tasks[0].head_end = work.tasks[1].head_begin = shape.heads / 2;
  return work;
}

}  // namespace cadenza::bench
