#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "kernels/cpu/attention_calls.h"
#include "kernels/cpu/backward_plan.h"
#include "kernels/cpu/lane_keys.h"
#include "kernels/cpu/workspace.h"

namespace cadenza::cpu {
namespace {

/// Keys that lie packed at once, with their gradients; a multiple of every block.
constexpr int64_t kBufferKeys = 256;

/// One worker: its scratch memory and the tile of queries and buffer of keys it works on.
class BackwardWorker {
 public:
  BackwardWorker(const BackwardArgs& args, const BlockKernels& kernels, const BackwardPlan& plan)
      : args_(args),
        kernels_(kernels),
        plan_(plan),
        ldk_(padded_dim(args.shape.head_dim)),
        ldv_(padded_dim(args.shape.v_head_dim)),
        keys_(kernels.tile_lanes),
        q_t_(kernels.tile_lanes * ldk_),
        do_t_(kernels.tile_lanes * ldv_),
        q_rows_(kernels.tile_lanes * ldk_),
        do_rows_(kernels.tile_lanes * ldv_),
        dq_t_(kernels.tile_lanes * ldk_),
        lse2_(kernels.tile_lanes),
        delta_(kernels.tile_lanes),
        p_((keys_of_block(args.shape) + 16) * kernels.tile_lanes),
        ds_((keys_of_block(args.shape) + 16) * kernels.tile_lanes),
        k_((kBufferKeys + 16) * ldk_),
        dk_((kBufferKeys + 16) * ldk_),
        v_((kBufferKeys + 16) * ldv_),
        dv_((kBufferKeys + 16) * ldv_) {}

  void run(Range cell) {
    for (int64_t i = cell.begin; i < cell.end; ++i) {
      const BackwardPiece& piece = plan_.pieces[static_cast<size_t>(i)];
      segment_ = &plan_.segments[piece.segment];
      for (int64_t key = piece.kv.begin; key < piece.kv.end; key += kBufferKeys) {
        run_keys(piece, {key, std::min(key + kBufferKeys, piece.kv.end)});
      }
    }
  }

 private:
  int64_t heads() const { return segment_->heads.size(); }
  int64_t padded_lanes() const {
    return (lanes_ + kernels_.panel_lanes - 1) / kernels_.panel_lanes * kernels_.panel_lanes;
  }

  /// All queries of a piece × at most kBufferKeys of its keys.
  void run_keys(const BackwardPiece& piece, Range keys) {
    task_ = args_.tasks[static_cast<size_t>(piece.task)];
    task_.kv_begin += keys.begin;
    task_.kv_rows = keys.size();
    task_.lowest -= keys.begin;  // from here on keys count from the buffer's first row
    task_.highest -= keys.begin;
    load_keys();
    const int64_t lanes = piece.q.size() * heads();
    for (int64_t lane = 0; lane < lanes; lane += kernels_.tile_lanes) {
      lanes_ = std::min(kernels_.tile_lanes, lanes - lane);
      run_tile(piece.q.begin + lane / heads(), lane % heads());
    }
    store_keys();
  }

  void load_keys() {
    const int64_t rows = task_.kv_rows;
    const auto load = [&](const RowsView& view, int64_t ld, Scratch& to, Scratch& gradient) {
      for (int64_t r = 0; r < rows; ++r) {
        const float* from = view.f32(task_.kv_begin + r, segment_->kv_head);
        std::copy_n(from, view.dim, to.data() + r * ld);
      }
      std::fill_n(to.data() + rows * ld, 16 * ld, 0.0f);
      std::fill_n(gradient.data(), (rows + 16) * ld, 0.0f);
    };
    load(args_.k, ldk_, k_, dk_);
    load(args_.v, ldv_, v_, dv_);
  }

  void store_keys() {
    const auto add = [&](const RowsView& view, int64_t ld, Scratch& from) {
      for (int64_t r = 0; r < task_.kv_rows; ++r) {
        float* to = view.f32(task_.kv_begin + r, segment_->kv_head);
        for (int64_t d = 0; d < view.dim; ++d) to[d] += from.data()[r * ld + d];
      }
    };
    add(args_.dk, ldk_, dk_);
    add(args_.dv, ldv_, dv_);
  }

  /// Lanes from token `token` of the task, head `head` of the segment.
  void run_tile(int64_t token, int64_t head) {
    keys_.set(task_, token, head, heads(), lanes_, {0, task_.kv_rows});
    if (keys_.any.empty()) return;
    keys_.pad(lanes_, padded_lanes(), -1);
    load_queries(token, head);
    const AttentionShape& s = args_.shape;
    kernels_.backward({.head_dim = s.head_dim,
                       .v_head_dim = s.v_head_dim,
                       .lanes = lanes_,
                       .block_keys = keys_of_block(s),
                       .tile_lanes = kernels_.tile_lanes,
                       .scale = s.scale,
                       .q_t = q_t_.data(),
                       .do_t = do_t_.data(),
                       .q_rows = q_rows_.data(),
                       .do_rows = do_rows_.data(),
                       .lse2 = lse2_.data(),
                       .delta = delta_.data(),
                       .dq_t = dq_t_.data(),
                       .key_begin = keys_.begin.data(),
                       .key_end = keys_.end.data(),
                       .p = p_.data(),
                       .ds = ds_.data()},
                      {.k = k_.data(),
                       .v = v_.data(),
                       .dk = dk_.data(),
                       .dv = dv_.data(),
                       .begin = keys_.any.begin / 16 * 16,
                       .end = keys_.any.end,
                       .full_begin = keys_.all.begin,
                       .full_end = keys_.all.end});
    store_queries(token, head);
  }

  template <typename Body>
  void for_lanes(int64_t token, int64_t head, const Body& body) const {
    int64_t row = task_.q_begin + token;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      body(lane, row, segment_->heads.begin + head);
      if (++head == heads()) head = 0, ++row;
    }
  }

  /// One row both as a row and as a column of its panel.
  void load_row(const float* from, int64_t dim, int64_t ld, int64_t lane, float factor,
                Scratch& rows, Scratch& columns) {
    const int64_t panel = kernels_.panel_lanes;
    std::copy_n(from, dim, rows.data() + lane * ld);
    float* column = columns.data() + lane / panel * panel * dim + lane % panel;
    for (int64_t d = 0; d < dim; ++d) column[d * panel] = from[d] * factor;
  }

  /// Lanes without LSE, and those that pad the last panel, become zeros that see no key.
  void clear_lane(int64_t lane) {
    const AttentionShape& s = args_.shape;
    const std::vector<float> zeros(static_cast<size_t>(std::max(s.head_dim, s.v_head_dim)));
    load_row(zeros.data(), s.head_dim, ldk_, lane, 0, q_rows_, q_t_);
    load_row(zeros.data(), s.v_head_dim, ldv_, lane, 0, do_rows_, do_t_);
    lse2_.data()[lane] = delta_.data()[lane] = 0;
    keys_.clear(lane);
  }

  void load_queries(int64_t token, int64_t first_head) {
    const AttentionShape& s = args_.shape;
    const float factor = s.scale * std::numbers::log2e_v<float>;
    std::fill_n(dq_t_.data(), padded_lanes() * ldk_, 0.0f);
    for_lanes(token, first_head, [&](int64_t lane, int64_t row, int64_t head) {
      const float lse = *args_.lse.f32(row, head);
      if (lse == -std::numeric_limits<float>::infinity()) return clear_lane(lane);
      load_row(args_.q.f32(row, head), s.head_dim, ldk_, lane, factor, q_rows_, q_t_);
      load_row(args_.d_o.f32(row, head), s.v_head_dim, ldv_, lane, 1, do_rows_, do_t_);
      lse2_.data()[lane] = lse * std::numbers::log2e_v<float>;
      delta_.data()[lane] = *args_.delta.f32(row, head);
    });
    for (int64_t lane = lanes_; lane < padded_lanes(); ++lane) clear_lane(lane);
  }

  void store_queries(int64_t token, int64_t first_head) {
    const int64_t panel = kernels_.panel_lanes;
    for_lanes(token, first_head, [&](int64_t lane, int64_t row, int64_t head) {
      float* to = args_.dq.f32(row, head);
      const float* from = dq_t_.data() + lane / panel * panel * ldk_ + lane % panel;
      for (int64_t d = 0; d < args_.shape.head_dim; ++d) to[d] += from[d * panel];
    });
  }

  const BackwardArgs& args_;
  const BlockKernels& kernels_;
  const BackwardPlan& plan_;
  const int64_t ldk_, ldv_;
  const HeadSegment* segment_ = nullptr;
  AttentionTask task_;  // the part of the task whose keys lie in the buffer
  LaneKeys keys_;
  int64_t lanes_ = 0;
  Scratch q_t_, do_t_, q_rows_, do_rows_, dq_t_, lse2_, delta_, p_, ds_, k_, dk_, v_, dv_;
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
