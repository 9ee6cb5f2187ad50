#include <algorithm>
#include <atomic>
#include <numbers>
#include <vector>

#include "base/bf16.h"
#include "kernels/cpu/attention_calls.h"
#include "kernels/cpu/forward_plan.h"
#include "kernels/cpu/lane_keys.h"
#include "kernels/cpu/merge_row.h"
#include "kernels/cpu/tile_lanes.h"
#include "kernels/cpu/workspace.h"

namespace cadenza::cpu {
namespace {

bool is_bf16(const RowsView& view) { return view.dtype == Dtype::kBFloat16; }

/// One worker: its scratch memory and the tile it works on.
class ForwardWorker {
 public:
  ForwardWorker(const ForwardArgs& args, const BlockKernels& kernels, const ForwardPlan& plan)
      : args_(args),
        kernels_(kernels),
        plan_(plan),
        dims_{args.shape.head_dim, args.shape.v_head_dim},
        keys_(kernels.forward_tile_lanes),
        scratch_(kernels.forward_bytes(dims_)),
        rows_(static_cast<size_t>(kernels.forward_tile_lanes)),
        lse_(static_cast<size_t>(kernels.forward_tile_lanes)) {}

  void run(int64_t tile) {
    const ForwardRegion& region = plan_.region_of(tile);
    const int64_t begin = (tile - region.first_tile) * plan_.tile_lanes;
    lanes_ = {.first_row = region.rows.begin + begin / region.heads.size(),
              .first_head = begin % region.heads.size(),
              .heads = region.heads,
              .count = std::min(plan_.tile_lanes, region.lanes() - begin)};
    const ForwardTile block{dims_, lanes_.count, args_.shape.scale * std::numbers::log2e_v<float>,
                            scratch_.data()};
    lanes_.for_each([&](int64_t lane, int64_t row, int64_t head) {
      rows_[static_cast<size_t>(lane)] = address(args_.q, row, head);
    });
    kernels_.forward_begin(block, {rows_.data(), lanes_.count, dims_.qk, is_bf16(args_.q)});
    for (int64_t i = region.tasks.begin; i < region.tasks.end; ++i) {
      const int32_t task = plan_.tasks[static_cast<size_t>(i)];
      attend(block, region.kv_head, args_.tasks[static_cast<size_t>(task)]);
    }
    region.merge ? merge(block) : store(block);
  }

 private:
  void attend(const ForwardTile& block, int64_t kv_head, const AttentionTask& task) {
    keys_.set(task, lanes_.first_row - task.q_begin, lanes_.first_head, lanes_.heads.size(),
              lanes_.count, {0, task.kv_rows});
    if (keys_.any.empty()) return;
    keys_.pad(lanes_.count, kernels_.panel_lanes);
    kernels_.forward_keys(block,
                          {.k = address(args_.k, task.kv_begin, kv_head),
                           .v = address(args_.v, task.kv_begin, kv_head),
                           .k_stride = args_.k.row_stride * dtype_bytes(args_.k.dtype),
                           .v_stride = args_.v.row_stride * dtype_bytes(args_.v.dtype),
                           .bf16 = is_bf16(args_.k),
                           .begin = keys_.any.begin,
                           .end = keys_.any.end,
                           .full_begin = keys_.all.begin,
                           .full_end = keys_.all.end},
                          keys_.lanes());
  }

  void store(const ForwardTile& block) {
    lanes_.for_each([&](int64_t lane, int64_t row, int64_t head) {
      rows_[static_cast<size_t>(lane)] = address(args_.o, row, head);
    });
    kernels_.forward_end(block, rows_.data(), is_bf16(args_.o), lse_.data());
    lanes_.for_each([&](int64_t lane, int64_t row, int64_t head) {
      *args_.lse.f32(row, head) = lse_[static_cast<size_t>(lane)];
    });
  }

  void merge(const ForwardTile& block) {
    partials_.resize(static_cast<size_t>(lanes_.count * dims_.v));
    lanes_.for_each([&](int64_t lane, int64_t, int64_t) {
      rows_[static_cast<size_t>(lane)] = partials_.data() + lane * dims_.v;
    });
    kernels_.forward_end(block, rows_.data(), false, lse_.data());
    lanes_.for_each([&](int64_t lane, int64_t row, int64_t head) {
      const float* partial = partials_.data() + lane * dims_.v;
      const float lse = lse_[static_cast<size_t>(lane)];
      is_bf16(args_.o)
          ? merge_bf16(partial, lse, row, head)
          : merge_row(partial, lse, dims_.v, args_.o.f32(row, head), args_.lse.f32(row, head));
    });
  }

  /// O is rounded once more, by each merge into it.
  void merge_bf16(const float* partial, float lse, int64_t row, int64_t head) {
    auto* o = reinterpret_cast<BFloat16*>(address(args_.o, row, head));
    row_.resize(static_cast<size_t>(dims_.v));
    for (size_t d = 0; d < row_.size(); ++d) row_[d] = to_float(o[d]);
    merge_row(partial, lse, dims_.v, row_.data(), args_.lse.f32(row, head));
    for (size_t d = 0; d < row_.size(); ++d) o[d] = to_bf16(row_[d]);
  }

  const ForwardArgs& args_;
  const BlockKernels& kernels_;
  const ForwardPlan& plan_;
  const HeadDims dims_;
  LaneKeys keys_;
  TileLanes lanes_;
  Scratch scratch_;
  std::vector<void*> rows_;
  std::vector<float> lse_, partials_, row_;
};

/// Large tiles pack keys seldom; in a small call they would leave threads without work, so that it
/// is cut into about kUnits tiles, whatever the number of threads: results must not depend on it.
int64_t choose_tile_lanes(const ForwardArgs& args, const BlockKernels& kernels) {
  constexpr int64_t kUnits = 64;
  int64_t lanes = 0;
  for (const AttentionTask& task : args.tasks) {
    lanes += task.q_rows * (task.head_end - task.head_begin);
  }
  const int64_t panel = kernels.panel_lanes;
  const int64_t wanted = (lanes / kUnits + panel - 1) / panel * panel;
  return std::clamp(wanted, 4 * panel, kernels.forward_tile_lanes);
}

}  // namespace

void forward(const ForwardArgs& args, const BlockKernels& kernels, int threads,
             const ParallelFor& parallel) {
  const ForwardPlan plan = plan_forward(args.shape, args.tasks, choose_tile_lanes(args, kernels));
  std::atomic<int64_t> taken = 0;
  parallel(std::min<int64_t>(threads, plan.tiles), [&](int64_t) {
    ForwardWorker worker(args, kernels, plan);
    // Last rows first: under a causal mask they are the long ones, and short ones fill the gaps at
    // the end.
    for (int64_t i; (i = taken.fetch_add(1)) < plan.tiles;) worker.run(plan.tiles - 1 - i);
  });
}

}  // namespace cadenza::cpu
