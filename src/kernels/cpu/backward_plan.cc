#include "kernels/cpu/backward_plan.h"

#include <algorithm>
#include <tuple>

namespace cadenza::cpu {
namespace {

/// Rows of a chunk: enough keys that packing a tile of queries for them costs little (about 3 %),
/// few enough that one document of a thousand tokens still keeps several threads busy.
constexpr int64_t kChunkRows = 256;
/// With at most this many chunks a side a plan has at most 8,256 causal cells a kv head, however
/// long the buffers are.
constexpr int64_t kMaxChunks = 128;

struct Grid {
  int64_t rows;    // of a chunk
  int64_t chunks;  // n
};

Grid make_grid(int64_t rows) {
  Grid grid{kChunkRows, 1};
  while (rows > grid.rows * kMaxChunks) grid.rows *= 2;
  grid.chunks = std::max<int64_t>(1, (rows + grid.rows - 1) / grid.rows);
  return grid;
}

struct Entry {
  int64_t step, kv_head, chunk;
  BackwardPiece piece;

  auto cell() const { return std::tie(step, kv_head, chunk); }
};

/// Chunk number `chunk` of a buffer, in rows counted from `origin`, within [0, rows).
Range chunk_rows(const Grid& grid, int64_t chunk, int64_t origin, int64_t rows) {
  return intersect({chunk * grid.rows - origin, (chunk + 1) * grid.rows - origin}, {0, rows});
}

void add_task(const Grid& grid, const AttentionTask& task, Entry entry,
              std::vector<Entry>& entries) {
  const int64_t q_end = task.q_begin + task.q_rows;
  for (entry.chunk = task.q_begin / grid.rows; entry.chunk * grid.rows < q_end; ++entry.chunk) {
    const Range q = chunk_rows(grid, entry.chunk, task.q_begin, task.q_rows);
    const Range seen = intersect({q.begin + task.lowest, q.end + task.highest}, {0, task.kv_rows});
    if (q.empty() || seen.empty() || task.lowest > task.highest) continue;
    const int64_t last = (task.kv_begin + seen.end - 1) / grid.rows;
    for (int64_t b = (task.kv_begin + seen.begin) / grid.rows; b <= last; ++b) {
      entry.step = (b - entry.chunk + grid.chunks) % grid.chunks;
      entry.piece.q = q;
      entry.piece.kv = intersect(chunk_rows(grid, b, task.kv_begin, task.kv_rows), seen);
      entries.push_back(entry);
    }
  }
}

void add_entry(const Entry& entry, bool new_step, bool new_cell, BackwardPlan& plan) {
  const int64_t piece = static_cast<int64_t>(plan.pieces.size());
  if (new_cell) plan.cells.push_back({piece, piece});
  const int64_t cells = static_cast<int64_t>(plan.cells.size());
  if (new_step) plan.steps.push_back({cells - 1, cells});
  plan.pieces.push_back(entry.piece);
  plan.cells.back().end = piece + 1;
  plan.steps.back().end = cells;
}

}  // namespace

BackwardPlan plan_backward(const BackwardArgs& args) {
  BackwardPlan plan{head_segments(args.shape, args.tasks), {}, {}, {}};
  const Grid grid = make_grid(std::max(args.q.rows, args.k.rows));
  std::vector<Entry> entries;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    for (const int32_t t : plan.segments[s].tasks) {
      add_task(grid, args.tasks[static_cast<size_t>(t)],
               {0, plan.segments[s].kv_head, 0, {s, t, {}, {}}}, entries);
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.cell() < b.cell(); });
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool new_step = i == 0 || entries[i].step != entries[i - 1].step;
    const bool new_cell = i == 0 || entries[i].cell() != entries[i - 1].cell();
    add_entry(entries[i], new_step, new_cell, plan);
  }
  return plan;
}

}  // namespace cadenza::cpu
