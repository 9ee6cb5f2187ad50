#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "kernels/cpu/attention_calls.h"
#include "kernels/cpu/backward_plan.h"
#include "kernels/cpu/lane_keys.h"
#include "kernels/cpu/tile_lanes.h"
#include "kernels/cpu/workspace.h"

namespace cadenza::cpu {
namespace {

bool is_bf16(const RowsView& view) { return view.dtype == Dtype::kBFloat16; }

/// One worker: its scratch memory and the tile of queries and buffer of keys it works on.
class BackwardWorker {
 public:
  BackwardWorker(const BackwardArgs& args, const BlockKernels& kernels, const BackwardPlan& plan)
      : args_(args),
        kernels_(kernels),
        plan_(plan),
        dims_{args.shape.head_dim, args.shape.v_head_dim},
        keys_(kernels.backward_tile_lanes),
        scratch_(kernels.backward_bytes(dims_)),
        zeros_(static_cast<size_t>(std::max(dims_.qk, dims_.v))),
        lse2_(static_cast<size_t>(kernels.backward_tile_lanes)),
        delta_(lse2_.size()),
        q_(lse2_.size()),
        d_o_(lse2_.size()),
        k_(static_cast<size_t>(kernels.buffer_keys)),
        v_(k_.size()),
        dq_(lse2_.size()),
        dk_(k_.size()),
        dv_(k_.size()) {}

  void run(Range cell) {
    for (int64_t i = cell.begin; i < cell.end; ++i) {
      const BackwardPiece& piece = plan_.pieces[static_cast<size_t>(i)];
      segment_ = &plan_.segments[piece.segment];
      for (int64_t key = piece.kv.begin; key < piece.kv.end; key += kernels_.buffer_keys) {
        run_keys(piece, {key, std::min(key + kernels_.buffer_keys, piece.kv.end)});
      }
    }
  }

 private:
  /// All queries of a piece × keys that fit the buffer.
  void run_keys(const BackwardPiece& piece, Range keys) {
    task_ = args_.tasks[static_cast<size_t>(piece.task)];
    task_.kv_begin += keys.begin;
    task_.kv_rows = keys.size();
    task_.lowest -= keys.begin;  // from here on keys count from the buffer's first row
    task_.highest -= keys.begin;
    begin_keys();
    const int64_t heads = segment_->heads.size(), lanes = piece.q.size() * heads;
    for (int64_t lane = 0; lane < lanes; lane += kernels_.backward_tile_lanes) {
      run_tile({.first_row = task_.q_begin + piece.q.begin + lane / heads,
                .first_head = lane % heads,
                .heads = segment_->heads,
                .count = std::min(kernels_.backward_tile_lanes, lanes - lane)});
    }
    kernels_.backward_end_keys(tile(0), dk_.data(), dv_.data());
  }

  void begin_keys() {
    for (int64_t i = 0; i < task_.kv_rows; ++i) {
      const int64_t row = task_.kv_begin + i, head = segment_->kv_head;
      const auto at = static_cast<size_t>(i);
      k_[at] = address(args_.k, row, head);
      v_[at] = address(args_.v, row, head);
      dk_[at] = args_.dk.f32(row, head);
      dv_[at] = args_.dv.f32(row, head);
    }
    kernels_.backward_begin_keys(tile(0), {k_.data(), task_.kv_rows, dims_.qk, is_bf16(args_.k)},
                                 {v_.data(), task_.kv_rows, dims_.v, is_bf16(args_.v)});
  }

  void run_tile(const TileLanes& lanes) {
    keys_.set(task_, lanes.first_row - task_.q_begin, lanes.first_head, lanes.heads.size(),
              lanes.count, {0, task_.kv_rows});
    if (keys_.any.empty()) return;
    gather(lanes);
    keys_.pad(lanes.count, kernels_.panel_lanes);
    const BackwardTile block = tile(lanes.count);
    kernels_.backward_begin_queries(block, {q_.data(), lanes.count, dims_.qk, is_bf16(args_.q)},
                                    {d_o_.data(), lanes.count, dims_.v, is_bf16(args_.d_o)});
    kernels_.backward(block, {keys_.any.begin, keys_.any.end, keys_.all.begin, keys_.all.end},
                      keys_.lanes());
    kernels_.backward_end_queries(block, dq_.data());
  }

  /// Rows, LSE and delta of the lanes. Those without LSE become zeros that see no key; those that
  /// fill the last panel stay zeros.
  void gather(const TileLanes& lanes) {
    std::fill(lse2_.begin(), lse2_.end(), 0.0f);
    std::fill(delta_.begin(), delta_.end(), 0.0f);
    lanes.for_each([&](int64_t lane, int64_t row, int64_t head) {
      const auto at = static_cast<size_t>(lane);
      const float lse = *args_.lse.f32(row, head);
      dq_[at] = args_.dq.f32(row, head);
      if (lse == -std::numeric_limits<float>::infinity()) {
        q_[at] = d_o_[at] = zeros_.data();
        return keys_.clear(lane);
      }
      q_[at] = address(args_.q, row, head);
      d_o_[at] = address(args_.d_o, row, head);
      lse2_[at] = lse * std::numbers::log2e_v<float>;
      delta_[at] = *args_.delta.f32(row, head);
    });
  }

  BackwardTile tile(int64_t lanes) {
    return {.dims = dims_,
            .lanes = lanes,
            .keys = task_.kv_rows,
            .factor = args_.shape.scale * std::numbers::log2e_v<float>,
            .scale = args_.shape.scale,
            .lse2 = lse2_.data(),
            .delta = delta_.data(),
            .scratch = scratch_.data()};
  }

  const BackwardArgs& args_;
  const BlockKernels& kernels_;
  const BackwardPlan& plan_;
  const HeadDims dims_;
  const HeadSegment* segment_ = nullptr;
  AttentionTask task_;  // the part of the task whose keys lie in the buffer
  LaneKeys keys_;
  Scratch scratch_;
  std::vector<float> zeros_, lse2_, delta_;
  std::vector<const void*> q_, d_o_, k_, v_;
  std::vector<float*> dq_, dk_, dv_;
};

/// Workers are made once and kept over all steps.
class Workers {
 public:
  Workers(const BackwardArgs& args, const BlockKernels& kernels, const BackwardPlan& plan,
          int threads)
      : plan_(plan) {
    int64_t most = 0;
    for (const Range& step : plan.steps) most = std::max(most, step.size());
    for (int64_t i = 0; i < std::min<int64_t>(threads, most); ++i) {
      workers_.push_back(std::make_unique<BackwardWorker>(args, kernels, plan));
    }
  }

  void run_step(Range step, const ParallelFor& parallel) {
    std::atomic<int64_t> taken = step.begin;
    const int64_t count = std::min<int64_t>(static_cast<int64_t>(workers_.size()), step.size());
    parallel(count, [&](int64_t w) {
      for (int64_t i; (i = taken.fetch_add(1)) < step.end;) {
        workers_[static_cast<size_t>(w)]->run(plan_.cells[static_cast<size_t>(i)]);
      }
    });
  }

 private:
  const BackwardPlan& plan_;
  std::vector<std::unique_ptr<BackwardWorker>> workers_;
};

}  // namespace

void backward(const BackwardArgs& args, const BlockKernels& kernels, int threads,
              const ParallelFor& parallel) {
  const BackwardPlan plan = plan_backward(args);
  Workers workers(args, kernels, plan, threads);
  for (const Range& step : plan.steps) workers.run_step(step, parallel);
}

}  // namespace cadenza::cpu
