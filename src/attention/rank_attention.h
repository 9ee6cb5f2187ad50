#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attention/attention_context.h"
#include "attention/attention_spec.h"
#include "attention/carried_keys.h"
#include "attention/row_exchange.h"
#include "attention/tensor_rows.h"
#include "program/rank_program.h"

namespace cadenza {

struct RoundTasks;

/// Exchanges have tags from here on; collectives have tags of their own, far above (comm/group.h).
inline constexpr Tag kFirstAttentionTag = 1;

/// One rank's part in the attention of one nano-batch over the ranks of a group: rows of Q, K, V
/// in, rows of O out, and back. It knows programs, not models, tokens or losses. All ranks call the
/// same methods in the same order.
///
/// Each layer goes through these, forward and then, layers in reverse, backward. Between posting
/// and receiving, a schedule may put other work.
///
///   input_rows          the caller writes q, k, v there
///   send_inputs         posts Q, K, V to the servers
///   attend_forward      receives inputs, attends, posts O and LSE
///   merge_outputs       receives O and LSE, merges: output()
///   output_gradient_rows  the caller writes dO there
///   send_gradients      posts dO, LSE, D (and Q, K, V where they are sent again)
///   attend_backward     receives them, attends backward, posts dQ, dK, dV
///   sum_gradients       receives dQ, dK, dV, sums: input_gradients()
///   release             lets the layer's buffers go
///
/// What a method hands out stays until the layer's release, but output() goes with send_gradients.
/// PeerError when a peer is lost or late, Interrupted on Ctrl-C; the group is then of no use for
/// further attention.
class RankAttention {
 public:
  /// `programs`: this rank's, by kind of layer; all have the same home rows. They and the others
  /// must outlive it. Uses tags from `first_tag` to below end_tag().
  RankAttention(AttentionContext& context, const AttentionSpec& spec,
                std::span<const RankProgram> programs, bool training,
                Tag first_tag = kFirstAttentionTag);
  ~RankAttention();
  RankAttention(const RankAttention&) = delete;
  RankAttention& operator=(const RankAttention&) = delete;
  Tag end_tag() const;
  /// This is a ping-pong's second nano-batch, `first` the first: carries keys over from it.
  void carry_from(RankAttention& first);

  QkvViews input_rows(int layer);
  void send_inputs(int layer);
  void attend_forward(int layer);
  void merge_outputs(int layer);
  RowsView output(int layer) const;

  RowsView output_gradient_rows(int layer);
  void send_gradients(int layer);
  void attend_backward(int layer);
  void sum_gradients(int layer);
  QkvViews input_gradients(int layer) const;
  void release(int layer);

  /// All of a layer's forward: copies q, k, v in, hands out O.
  RowsView forward(int layer, const QkvViews& inputs);
  /// All of a layer's backward: copies dO in, hands out dQ, dK, dV.
  QkvViews backward(int layer, const RowsView& d_o);

  int64_t home_rows() const { return programs_.front().home_rows; }

 private:
  /// Exchanges of one round of Q, K, V: sent by homes, and passed on by servers.
  struct Round {
    std::unique_ptr<RowExchange> of_homes, of_relays;
  };
  /// What the calls for one layer hand to one another.
  struct Layer {
    TensorRows home, server;
    std::vector<Round> inputs;
    bool inputs_sent = false;   // all rounds
    bool keys_carried = false;  // to the second nano-batch
    std::unique_ptr<RowExchange> outputs, gradient_inputs, gradient_outputs;
  };

  Layer& at(int layer) { return layers_[static_cast<size_t>(layer)]; }
  const Layer& at(int layer) const { return layers_[static_cast<size_t>(layer)]; }
  const LayerSoftmax& softmax(int layer) const { return spec_.layers[static_cast<size_t>(layer)]; }
  const RankProgram& program(int layer) const {
    return programs_[static_cast<size_t>(softmax(layer).kind)];
  }
  AttentionShape shape(int layer) const;
  Tag tags_per_layer() const;
  std::unique_ptr<RowExchange> new_exchange(int layer, LayerExchange exchange, Tag tag);

  void start_round(int layer, size_t round);
  void drop_sent_inputs(int layer);
  void carry_keys(int layer);
  void attend_rounds(int layer);

  /// Rows of the home and the server layout. K and V of homes have the carried rows behind their
  /// own.
  RowBuffer home_rows_of(int layer, RowTensor tensor, Dtype dtype) const;
  RowBuffer server_rows_of(int layer, RowTensor tensor, Dtype dtype) const;
  RowsView own_rows(const RowBuffer& rows) const;
  RowBuffer zeroed(RowBuffer buffer);
  RowBuffer rounded(RowBuffer sums, Dtype dtype);

  AttentionContext& context_;
  const AttentionSpec& spec_;
  const std::span<const RankProgram> programs_;
  const bool training_;
  const Tag first_tag_;
  std::vector<RoundTasks> tasks_;  // by kind
  std::vector<Layer> layers_;
  RankAttention* first_ = nullptr;    // whose keys this one carries over
  RankAttention* second_ = nullptr;   // that carries keys of this one
  std::vector<CarriedKeys> carried_;  // by layer, where this is the second
};

}  // namespace cadenza
