#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/attention_calls.h"
#include "kernels/cpu/forward_plan.h"
#include "kernels/cpu/lane_keys.h"
#include "kernels/cpu/merge_row.h"
#include "kernels/cpu/workspace.h"

namespace cadenza::cpu {
namespace {

/// One worker: its scratch memory and the tile it works on.
class ForwardWorker {
 public:
  ForwardWorker(const ForwardArgs& args, const BlockKernels& kernels, const ForwardPlan& plan)
      : args_(args),
        kernels_(kernels),
        plan_(plan),
        keys_(kernels.tile_lanes),
        q_t_(kernels.tile_lanes * args.shape.head_dim),
        o_t_(kernels.tile_lanes * padded_dim(args.shape.v_head_dim)),
        max_(kernels.tile_lanes),
        sum_(kernels.tile_lanes),
        row_(args.shape.v_head_dim),
        k_block_((block_keys_() + 16) * padded_dim(args.shape.head_dim)),
        v_block_((block_keys_() + 16) * padded_dim(args.shape.v_head_dim)),
        scores_((block_keys_() + 16) * kernels.panel_lanes) {}

  void run(int64_t tile) {
    const ForwardRegion& region = plan_.region_of(tile);
    const int64_t begin = (tile - region.first_tile) * kernels_.tile_lanes;
    lanes_ = std::min(kernels_.tile_lanes, region.lanes() - begin);
    first_row_ = region.rows.begin + begin / region.heads.size();
    first_head_ = begin % region.heads.size();
    load_queries(region);
    for (int64_t i = region.tasks.begin; i < region.tasks.end; ++i) {
      const int32_t task = plan_.tasks[static_cast<size_t>(i)];
      attend(region, args_.tasks[static_cast<size_t>(task)]);
    }
    store_rows(region);
  }

 private:
  int64_t block_keys_() const { return keys_of_block(args_.shape); }
  int64_t padded_lanes() const {
    return (lanes_ + kernels_.panel_lanes - 1) / kernels_.panel_lanes * kernels_.panel_lanes;
  }

  /// Calls body(lane, row, head) for every lane of the tile.
  template <typename Body>
  void for_lanes(const ForwardRegion& region, const Body& body) const {
    int64_t row = first_row_, head = first_head_;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      body(lane, row, region.heads.begin + head);
      if (++head == region.heads.size()) head = 0, ++row;
    }
  }

  /// Qᵀ times scale · log2(e); lanes that pad the last panel are zero. An empty online softmax.
  void load_queries(const ForwardRegion& region) {
    const int64_t dim = args_.shape.head_dim, panel = kernels_.panel_lanes;
    const float factor = args_.shape.scale * std::numbers::log2e_v<float>;
    std::fill_n(q_t_.data() + (padded_lanes() - panel) * dim, panel * dim, 0.0f);
    for_lanes(region, [&](int64_t lane, int64_t row, int64_t head) {
      const float* q = args_.q.f32(row, head);
      float* to = q_t_.data() + lane / panel * panel * dim + lane % panel;
      for (int64_t d = 0; d < dim; ++d) to[d * panel] = q[d] * factor;
    });
    std::fill_n(max_.data(), padded_lanes(), -std::numeric_limits<float>::infinity());
    std::fill_n(sum_.data(), padded_lanes(), 0.0f);
    std::fill_n(o_t_.data(), padded_lanes() * padded_dim(args_.shape.v_head_dim), 0.0f);
  }

  void attend(const ForwardRegion& region, const AttentionTask& task) {
    keys_.set(task, first_row_ - task.q_begin, first_head_, region.heads.size(), lanes_,
              {0, task.kv_rows});
    if (keys_.any.empty()) return;
    keys_.pad(lanes_, padded_lanes(), lanes_ - 1);
    const AttentionShape& s = args_.shape;
    const ForwardTile tile{.head_dim = s.head_dim,
                           .v_head_dim = s.v_head_dim,
                           .lanes = lanes_,
                           .block_keys = block_keys_(),
                           .q_t = q_t_.data(),
                           .o_t = o_t_.data(),
                           .max = max_.data(),
                           .sum = sum_.data(),
                           .key_begin = keys_.begin.data(),
                           .key_end = keys_.end.data(),
                           .k_block = k_block_.data(),
                           .v_block = v_block_.data(),
                           .scores = scores_.data()};
    kernels_.forward(tile, {.k = args_.k.f32(task.kv_begin, region.kv_head),
                            .v = args_.v.f32(task.kv_begin, region.kv_head),
                            .k_stride = args_.k.row_stride,
                            .v_stride = args_.v.row_stride,
                            .begin = keys_.any.begin,
                            .end = keys_.any.end,
                            .full_begin = keys_.all.begin,
                            .full_end = keys_.all.end});
  }

  void store_rows(const ForwardRegion& region) {
    for_lanes(region, [&](int64_t lane, int64_t row, int64_t head) {
      float* o = args_.o.f32(row, head);
      float* lse = args_.lse.f32(row, head);
      if (region.merge) {
        const float lse_of_tile = normalised_row(lane, row_.data());
        merge_row(row_.data(), lse_of_tile, args_.shape.v_head_dim, o, lse);
      } else {
        *lse = normalised_row(lane, o);
      }
    });
  }

  /// Writes O of a lane and returns its LSE; a lane without keys gives zeros and -inf.
  float normalised_row(int64_t lane, float* o) {
    const int64_t dim = args_.shape.v_head_dim, panel = kernels_.panel_lanes;
    const float sum = sum_.data()[lane];
    if (sum == 0.0f) {
      std::fill_n(o, dim, 0.0f);
      return -std::numeric_limits<float>::infinity();
    }
    const float* from = o_t_.data() + lane / panel * panel * padded_dim(dim) + lane % panel;
    const float inverse = 1.0f / sum;
    for (int64_t d = 0; d < dim; ++d) o[d] = from[d * panel] * inverse;
    return static_cast<float>(max_.data()[lane] * std::numbers::ln2 +
                              std::log(static_cast<double>(sum)));
  }

  const ForwardArgs& args_;
  const BlockKernels& kernels_;
  const ForwardPlan& plan_;
  LaneKeys keys_;
  int64_t lanes_ = 0, first_row_ = 0, first_head_ = 0;
  Scratch q_t_, o_t_, max_, sum_, row_, k_block_, v_block_, scores_;
};

}  // namespace

void forward(const ForwardArgs& args, const BlockKernels& kernels, int threads,
             const ParallelFor& parallel) {
  const ForwardPlan plan = plan_forward(args.shape, args.tasks, kernels.tile_lanes);
  std::atomic<int64_t> taken = 0;
  parallel(std::min<int64_t>(threads, plan.tiles), [&](int64_t) {
    ForwardWorker worker(args, kernels, plan);
    // Last rows first: under a causal mask they are the long ones, and short ones fill the gaps at
    // the end.
    for (int64_t i; (i = taken.fetch_add(1)) < plan.tiles;) worker.run(plan.tiles - 1 - i);
  });
}

}  // namespace cadenza::cpu
