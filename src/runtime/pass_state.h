#pragma once

#include <memory>
#include <vector>

#include "runtime/layer_state.h"
#include "runtime/rank_runtime.h"

namespace cadenza {

/// One pass while it runs: one method for each kind of action.
class PassState {
 public:
  PassState(Group& group, Backend& backend, Segments& model, const RankRuntime::Options& options,
            const Pass& pass);

  void execute(const Action& action);
  PassResult finish();

 private:
  void segment_forward(int segment);
  void send_inputs(int layer);
  /// Posts what a round needs, from this rank's home rows and from those that it passes on.
  void start_round(int layer, size_t round);
  void receive_round(int layer, size_t round);
  void attend_forward(int layer);
  void merge_outputs(int layer);
  void send_gradients(int layer);
  void attend_backward(int layer);
  void sum_gradients(int layer);
  void segment_backward(int segment);

  /// Rows of Q-like (heads) and K-like (kv heads) buffers of the home and server layouts.
  RowBuffer home_q_rows(Dtype dtype) const;
  RowBuffer home_kv_rows(Dtype dtype) const;
  RowBuffer server_q_rows(Dtype dtype) const;
  RowBuffer server_kv_rows(Dtype dtype) const;
  /// LSE or D of query rows.
  RowBuffer statistics(int64_t rows) const;
  RowBuffer zeroed(RowBuffer buffer);
  /// Finished sums, rounded to a dtype where that is not theirs already.
  RowBuffer rounded(RowBuffer sums, Dtype dtype);
  /// What arrives for these sums: rows in this dtype. For the shape alone.
  static RowsView arriving(const RowBuffer& sums, Dtype dtype);
  std::unique_ptr<Exchange> new_exchange(int layer, Tag kind);
  void settle(std::unique_ptr<Exchange>& exchange);
  AttentionShape attention_shape() const;

  Group& group_;
  Backend& backend_;
  Segments& model_;
  const Dtype dtype_;           // of the model's rows, in memory and on the wire
  const Dtype gradient_dtype_;  // of dQ, dK and dV on the wire
  const double deadline_seconds_;
  const Pass& pass_;
  std::unique_ptr<SegmentRun> run_;
  std::vector<AttentionTask> tasks_;  // those of a round together
  std::vector<size_t> tasks_per_round_;
  std::vector<LayerState> layers_;
  PassTimes times_;
  ExchangeTimes exchange_times_;
  int64_t first_bad_row_ = -1;
};

}  // namespace cadenza
