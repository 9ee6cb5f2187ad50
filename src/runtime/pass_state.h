#pragma once

#include <memory>
#include <vector>

#include "runtime/layer_state.h"
#include "runtime/rank_runtime.h"

namespace cadenza {

/// Layers' exchanges have tags from here on; collectives have tags of their own, far above
/// (comm/group.h).
inline constexpr Tag kFirstPassTag = 1;

/// One nano-batch of a pass while it runs: one method for each kind of action.
class PassState {
 public:
  /// Exchanges use tags from `first_tag` to below end_tag(). `before`: the nano-batch whose keys
  /// this one carries over, null for the first.
  PassState(Group& group, Backend& backend, Segments& model, const RankRuntime::Options& options,
            const Pass& pass, const NanoBatch& nano_batch, Tag first_tag, PassState* before);

  Tag end_tag() const;
  void execute(const Action& action);
  /// Adds to `times`.
  NanoBatchResult finish(PassTimes& times);

 private:
  void segment_forward(int segment);
  void send_inputs(int layer);
  /// K and V of the other nano-batch, behind this one's own.
  void carry_keys(int layer);
  /// Posts what a round needs, from this rank's home rows and from those that it passes on.
  void start_round(int layer, size_t round);
  void receive_round(int layer, size_t round);
  void attend_forward(int layer);
  void merge_outputs(int layer);
  void send_gradients(int layer);
  void attend_backward(int layer);
  void sum_gradients(int layer);
  /// Sums for carried keys go aside, unrounded; the nano-batch that they belong to adds them.
  void keep_carried_sums(int layer);
  void add_carried_sums(int layer);
  void segment_backward(int segment);

  /// Rows of Q-like (heads) and K-like (kv heads) buffers of the home and server layouts.
  RowBuffer home_q_rows(Dtype dtype) const;
  RowBuffer home_kv_rows(Dtype dtype) const;
  /// The rank's own rows of a buffer of home_kv_rows.
  RowsView own(const RowBuffer& kv) const;
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
  const BackwardInputs inputs_;
  const double deadline_seconds_;
  const bool training_;
  const RankProgram& program_;
  const Tag first_tag_;
  PassState* const before_;
  PassState* behind_ = nullptr;  // carries keys of this one
  std::unique_ptr<SegmentRun> run_;
  std::vector<AttentionTask> tasks_;  // those of a round together
  std::vector<size_t> tasks_per_round_;
  std::vector<LayerState> layers_;
  PassTimes times_;
  ExchangeTimes exchange_times_;
  int64_t first_bad_row_ = -1;
};

}  // namespace cadenza
