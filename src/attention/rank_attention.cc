// A layer's steps, forward and backward. Who sends what to whom is the program's; in which order
// layers and nano-batches take turns is the caller's.
#include "attention/rank_attention.h"

#include <limits>
#include <utility>

#include "attention/round_tasks.h"
#include "base/check.h"
#include "core/exchange_table.h"

namespace cadenza {
namespace {

using enum RowTensor;

// Exchanges of one layer that may be alive at once; from kInputTags on two for each round, of what
// homes send and of what servers pass on.
enum : Tag { kOutputTag, kGradientInputTag, kGradientOutputTag, kInputTags };

/// What is added up stays in fp32 until it is whole.
constexpr Dtype kSums = Dtype::kFloat32;

constexpr float kNoKeys = -std::numeric_limits<float>::infinity();

bool is_of_keys(RowTensor tensor) {
  return tensor == kK || tensor == kV || tensor == kDK || tensor == kDV;
}

bool is_statistic(RowTensor tensor) { return tensor == kLse || tensor == kDelta; }

RowBuffer rows_for(int64_t rows, RowTensor tensor, const ModelShape& shape, Dtype dtype) {
  return {rows, is_of_keys(tensor) ? shape.kv_heads : shape.heads,
          is_statistic(tensor) ? 1 : shape.head_dim, dtype};
}

}  // namespace

RankAttention::RankAttention(AttentionContext& context, const AttentionSpec& spec,
                             std::span<const RankProgram> programs, bool training, Tag first_tag)
    : context_(context),
      spec_(spec),
      programs_(programs),
      training_(training),
      first_tag_(first_tag),
      tasks_(programs.begin(), programs.end()),
      layers_(spec.layers.size()) {
  CADENZA_CHECK(!programs.empty());
  for (const RankProgram& program : programs) {
    CADENZA_CHECK(program.rank == context.group.rank(), "program of rank ", program.rank);
    CADENZA_CHECK(program.home_rows == programs.front().home_rows, program.home_rows, " rows, ",
                  programs.front().home_rows, " in another kind of layer");
  }
  CADENZA_CHECK(end_tag() <= kFirstCollectiveTag, layers_.size(), " layers");
}

RankAttention::~RankAttention() = default;

Tag RankAttention::tags_per_layer() const {
  size_t rounds = 0;
  for (const RankProgram& program : programs_) rounds = std::max(rounds, program.rounds.size());
  return kInputTags + 2 * static_cast<Tag>(rounds);
}

Tag RankAttention::end_tag() const {
  return first_tag_ + static_cast<Tag>(layers_.size()) * tags_per_layer();
}

void RankAttention::carry_from(RankAttention& first) {
  first_ = &first;
  first.second_ = this;
  for (size_t layer = 0; layer < layers_.size(); ++layer)
    carried_.emplace_back(context_, program(static_cast<int>(layer)));
}

std::unique_ptr<RowExchange> RankAttention::new_exchange(int layer, LayerExchange exchange,
                                                         Tag tag) {
  return std::make_unique<RowExchange>(
      context_, contents_of(exchange, spec_.inputs), spec_.shape,
      first_tag_ + static_cast<Tag>(layer) * tags_per_layer() + tag);
}

AttentionShape RankAttention::shape(int layer) const {
  return {.heads = spec_.shape.heads,
          .kv_heads = spec_.shape.kv_heads,
          .head_dim = spec_.shape.head_dim,
          .v_head_dim = spec_.shape.head_dim,
          .scale = softmax(layer).scale};
}

QkvViews RankAttention::input_rows(int layer) {
  TensorRows& home = at(layer).home;
  for (const RowTensor tensor : {kQ, kK, kV})
    home[tensor] = home_rows_of(layer, tensor, spec_.shape.dtype);
  return {own_rows(home[kQ]), own_rows(home[kK]), own_rows(home[kV])};
}

void RankAttention::send_inputs(int layer) {
  Layer& state = at(layer);
  const RankProgram& ours = program(layer);
  for (const RowTensor tensor : {kQ, kK, kV})
    state.server[tensor] = server_rows_of(layer, tensor, spec_.shape.dtype);
  carry_keys(layer);
  state.inputs.resize(ours.rounds.size());
  start_round(layer, 0);

  state.outputs = new_exchange(layer, LayerExchange::kOutputs, kOutputTag);
  state.outputs->expect(ours.as_home);
}

void RankAttention::carry_keys(int layer) {
  if (first_ == nullptr) return;
  Layer& theirs = first_->at(layer);
  TensorRows& home = at(layer).home;
  CarriedKeys& carried = carried_[static_cast<size_t>(layer)];
  for (const RowTensor tensor : {kK, kV})
    carried.copy(theirs.home[tensor].view(), home[tensor].view());
  theirs.keys_carried = true;
  first_->drop_sent_inputs(layer);
}

void RankAttention::start_round(int layer, size_t round) {
  Layer& state = at(layer);
  const InputRound& rows = program(layer).rounds[round];
  Round& exchanges = state.inputs[round];
  const Tag tag = kInputTags + 2 * static_cast<Tag>(round);
  exchanges.of_homes = new_exchange(layer, LayerExchange::kInputs, tag);
  exchanges.of_homes->expect(rows.of_homes);
  exchanges.of_homes->send(rows.from_home, state.home);
  exchanges.of_homes->place_own(rows.from_home, state.home, rows.of_homes, state.server);
  exchanges.of_relays = new_exchange(layer, LayerExchange::kInputs, tag + 1);
  exchanges.of_relays->expect(rows.of_relays);
  exchanges.of_relays->send(rows.passed_on, state.server);
  state.inputs_sent = round + 1 == program(layer).rounds.size();
  drop_sent_inputs(layer);
}

/// The servers, this rank among them, have the rows once all rounds are sent: they are not kept
/// twice. But keys stay until the other nano-batch has carried them over, and all if they are to be
/// sent again.
void RankAttention::drop_sent_inputs(int layer) {
  Layer& state = at(layer);
  if (!state.inputs_sent) return;
  if (training_ && spec_.inputs == BackwardInputs::kSentAgain) return;
  state.home.free(kQ);
  if (second_ == nullptr || state.keys_carried) state.home.free(kK, kV);
}

void RankAttention::attend_forward(int layer) {
  Layer& state = at(layer);
  attend_rounds(layer);
  state.server[kO] = rounded(std::move(state.server[kO]), spec_.shape.dtype);
  state.outputs->send(program(layer).as_server, state.server);
  if (!training_ || spec_.inputs == BackwardInputs::kSentAgain) state.server.free(kQ, kK, kV);
}

void RankAttention::attend_rounds(int layer) {
  Layer& state = at(layer);
  TensorRows& server = state.server;
  const size_t rounds = program(layer).rounds.size();
  for (size_t round = 0; round < rounds; ++round) {
    state.inputs[round].of_homes->receive(server);
    state.inputs[round].of_relays->receive(server);
    if (round + 1 < rounds) start_round(layer, round + 1);
    const LaneClock::Scope attending(context_.clock, Lane::kAttention);
    if (round == 0) {
      // One call merges its partials in fp32 whatever the output; partials of several need it.
      server[kO] = zeroed(server_rows_of(layer, kO, rounds == 1 ? spec_.shape.dtype : kSums));
      server[kLse] = server_rows_of(layer, kLse, kSums);
      context_.backend.fill(server[kLse].view(), kNoKeys);
    }
    const RoundTasks& tasks = tasks_[static_cast<size_t>(softmax(layer).kind)];
    context_.backend.attention_forward({.shape = shape(layer),
                                        .tasks = tasks.of_round(round),
                                        .q = server[kQ].view(),
                                        .k = server[kK].view(),
                                        .v = server[kV].view(),
                                        .o = server[kO].view(),
                                        .lse = server[kLse].view()});
  }
}

void RankAttention::merge_outputs(int layer) {
  Layer& state = at(layer);
  TensorRows& home = state.home;
  {
    const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
    home[kO] = zeroed(home_rows_of(layer, kO, kSums));
    home[kLse] = home_rows_of(layer, kLse, kSums);
    context_.backend.fill(home[kLse].view(), kNoKeys);
  }
  state.outputs->receive_sums(home, program(layer).as_server, state.server);
  state.server.free(kO, kLse);
  if (const auto& sinks = softmax(layer).sinks) {
    const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
    context_.backend.apply_sinks(sinks->logits, home[kO].view(), home[kLse].view());
  }
  home[kO] = rounded(std::move(home[kO]), spec_.shape.dtype);
  for (Round& round : state.inputs) {
    round.of_homes->finish();
    round.of_relays->finish();
  }
  state.inputs.clear();
  state.outputs->finish();
  state.outputs.reset();
}

RowsView RankAttention::output(int layer) const { return at(layer).home[kO].view(); }

RowsView RankAttention::output_gradient_rows(int layer) {
  at(layer).home[kDO] = home_rows_of(layer, kDO, spec_.shape.dtype);
  return at(layer).home[kDO].view();
}

void RankAttention::send_gradients(int layer) {
  Layer& state = at(layer);
  TensorRows& home = state.home;
  TensorRows& server = state.server;
  const RankProgram& ours = program(layer);
  {
    const LaneClock::Scope packing(context_.clock, Lane::kPack);
    home[kDelta] = home_rows_of(layer, kDelta, kSums);
    context_.backend.row_dot(home[kDO].view(), home[kO].view(), home[kDelta].view());
    if (const auto& sinks = softmax(layer).sinks) {
      context_.backend.add_sink_gradients(sinks->logits, home[kLse].view(), home[kDelta].view(),
                                          sinks->gradient);
    }
  }
  const ExchangeContents contents = contents_of(LayerExchange::kGradientInputs, spec_.inputs);
  for (const ExchangedTensor& tensor : contents.tensors) {
    server[tensor.tensor] =
        server_rows_of(layer, tensor.tensor, wire_dtype(tensor.type, spec_.shape));
  }
  state.gradient_inputs = new_exchange(layer, LayerExchange::kGradientInputs, kGradientInputTag);
  state.gradient_inputs->expect(ours.as_server);
  state.gradient_inputs->send(ours.as_home, home);
  state.gradient_inputs->place_own(ours.as_home, home, ours.as_server, server);
  home.free(kQ, kK, kV, kO, kLse, kDO, kDelta);

  state.gradient_outputs = new_exchange(layer, LayerExchange::kGradientOutputs, kGradientOutputTag);
  state.gradient_outputs->expect(ours.as_home);
}

void RankAttention::attend_backward(int layer) {
  Layer& state = at(layer);
  TensorRows& server = state.server;
  state.gradient_inputs->receive(server);
  {
    const LaneClock::Scope attending(context_.clock, Lane::kAttention);
    for (const RowTensor tensor : {kDQ, kDK, kDV})
      server[tensor] = zeroed(server_rows_of(layer, tensor, kSums));
    const RoundTasks& tasks = tasks_[static_cast<size_t>(softmax(layer).kind)];
    context_.backend.attention_backward({.shape = shape(layer),
                                         .tasks = tasks.all(),
                                         .q = server[kQ].view(),
                                         .k = server[kK].view(),
                                         .v = server[kV].view(),
                                         .d_o = server[kDO].view(),
                                         .lse = server[kLse].view(),
                                         .delta = server[kDelta].view(),
                                         .dq = server[kDQ].view(),
                                         .dk = server[kDK].view(),
                                         .dv = server[kDV].view()});
  }
  server.free(kQ, kK, kV, kDO, kLse, kDelta);
  for (const RowTensor tensor : {kDQ, kDK, kDV})
    server[tensor] = rounded(std::move(server[tensor]), spec_.shape.gradient_dtype());
  state.gradient_outputs->send(program(layer).as_server, server);
}

void RankAttention::sum_gradients(int layer) {
  Layer& state = at(layer);
  TensorRows& home = state.home;
  {
    const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
    for (const RowTensor tensor : {kDQ, kDK, kDV})
      home[tensor] = zeroed(home_rows_of(layer, tensor, kSums));
  }
  state.gradient_outputs->receive_sums(home, program(layer).as_server, state.server);
  state.server = {};
  if (first_ != nullptr) {
    carried_[static_cast<size_t>(layer)].keep(home[kDK].view(), home[kDV].view());
  }
  if (second_ != nullptr) {
    second_->carried_[static_cast<size_t>(layer)].add(home[kDK].view(), home[kDV].view());
  }
  for (const RowTensor tensor : {kDQ, kDK, kDV})
    home[tensor] = rounded(std::move(home[tensor]), spec_.shape.dtype);
  state.gradient_inputs->finish();
  state.gradient_outputs->finish();
  state.gradient_inputs.reset();
  state.gradient_outputs.reset();
}

QkvViews RankAttention::input_gradients(int layer) const {
  const TensorRows& home = at(layer).home;
  return {own_rows(home[kDQ]), own_rows(home[kDK]), own_rows(home[kDV])};
}

void RankAttention::release(int layer) { at(layer) = {}; }

RowsView RankAttention::forward(int layer, const QkvViews& inputs) {
  const QkvViews rows = input_rows(layer);
  context_.backend.convert_rows(inputs.q, rows.q);
  context_.backend.convert_rows(inputs.k, rows.k);
  context_.backend.convert_rows(inputs.v, rows.v);
  send_inputs(layer);
  attend_forward(layer);
  merge_outputs(layer);
  return output(layer);
}

QkvViews RankAttention::backward(int layer, const RowsView& d_o) {
  context_.backend.convert_rows(d_o, output_gradient_rows(layer));
  send_gradients(layer);
  attend_backward(layer);
  sum_gradients(layer);
  return input_gradients(layer);
}

RowBuffer RankAttention::home_rows_of(int layer, RowTensor tensor, Dtype dtype) const {
  const RankProgram& ours = program(layer);
  return rows_for(is_of_keys(tensor) ? ours.home_kv_rows : ours.home_rows, tensor, spec_.shape,
                  dtype);
}

RowBuffer RankAttention::server_rows_of(int layer, RowTensor tensor, Dtype dtype) const {
  const RankProgram& ours = program(layer);
  return rows_for(is_of_keys(tensor) ? ours.server_kv_rows : ours.server_q_rows, tensor,
                  spec_.shape, dtype);
}

RowsView RankAttention::own_rows(const RowBuffer& rows) const {
  RowsView view = rows.view();
  view.rows = home_rows();
  return view;
}

RowBuffer RankAttention::zeroed(RowBuffer buffer) {
  context_.backend.fill(buffer.view(), 0.0f);
  return buffer;
}

/// Finished sums in a dtype, rounded where that is not theirs already.
RowBuffer RankAttention::rounded(RowBuffer sums, Dtype dtype) {
  const RowsView& view = sums.view();
  if (view.dtype == dtype) return sums;
  const LaneClock::Scope rounding(context_.clock, Lane::kUnpack);
  RowBuffer narrow(view.rows, view.heads, view.dim, dtype);
  context_.backend.convert_rows(view, narrow.view());
  return narrow;
}

}  // namespace cadenza
