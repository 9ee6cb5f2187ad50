#pragma once

#include <cstdint>
#include <vector>

#include "bench/work.h"

namespace cadenza::bench {

/// 16 query heads and 4 kv heads, scale 1/sqrt(head_dim). v_head_dim 0: as head_dim.
AttentionShape bench_shape(int64_t head_dim, int64_t v_head_dim = 0);

/// Causal documents, one after another, a task each.
Work causal_documents(const AttentionShape& shape, const std::vector<int64_t>& lengths);

/// One document under a sliding window: a query sees itself and window - 1 keys before it.
Work window_document(const AttentionShape& shape, int64_t tokens, int64_t window);

/// PyTorch, which has no window, in blocks of `window` queries, each against its own keys and those
/// of the block before, so that no more than half is masked. `window` divides `tokens`.
TorchWork window_blocks(const AttentionShape& shape, int64_t tokens, int64_t window);

/// One document in which every query sees every key.
Work full_document(const AttentionShape& shape, int64_t tokens);

/// `documents` documents of which the last `q_rows` queries each are computed, in tasks of
/// `task_rows` rows that see `keys` keys up to their own last row (causal, aligned bottom right):
/// the area is about the same for all task sizes. `task_rows` divides `q_rows`, which is at most
/// `keys`.
Work long_kv_tasks(const AttentionShape& shape, int64_t documents, int64_t q_rows,
                   int64_t task_rows, int64_t keys);

/// One document under a sliding window of 4.5 keys on average: 4 for one half of the heads and 5
/// for the other. Per token as many pairs as causal documents of 8 tokens.
Work thin_window_document(const AttentionShape& shape, int64_t tokens);

}  // namespace cadenza::bench
