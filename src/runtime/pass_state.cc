#include "runtime/pass_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/interrupt.h"
#include "runtime/stopwatch.h"

namespace cadenza {
namespace {

// Exchanges of one layer that may be alive at once; from kInputs on two for each round, of what
// homes send and of what servers pass on.
enum : Tag { kOutputs, kGradientInputs, kGradientOutputs, kInputs };

/// What is added up stays in fp32 until it is whole.
constexpr Dtype kSums = Dtype::kFloat32;

constexpr float kNoKeys = -std::numeric_limits<float>::infinity();

/// All tasks, those of a round together, in task-id order within it.
std::vector<AttentionTask> attention_tasks(const RankProgram& program) {
  std::vector<AttendTask> by_round = program.tasks;
  std::stable_sort(by_round.begin(), by_round.end(),
                   [](const AttendTask& a, const AttendTask& b) { return a.round < b.round; });
  std::vector<AttentionTask> tasks;
  tasks.reserve(by_round.size());
  for (const AttendTask& task : by_round) {
    tasks.push_back({.q_begin = task.q.begin,
                     .q_rows = task.q.size(),
                     .kv_begin = task.kv.begin,
                     .kv_rows = task.kv.size(),
                     .lowest = task.band.lowest,
                     .highest = task.band.highest,
                     .head_begin = task.heads.begin,
                     .head_end = task.heads.end,
                     .merge = task.merge});
  }
  return tasks;
}

/// How many tasks each round has.
std::vector<size_t> tasks_per_round(const RankProgram& program) {
  std::vector<size_t> counts(program.rounds.size(), 0);
  for (const AttendTask& task : program.tasks) ++counts[static_cast<size_t>(task.round)];
  return counts;
}

}  // namespace

PassState::PassState(Group& group, Backend& backend, Segments& model,
                     const RankRuntime::Options& options, const Pass& pass,
                     const NanoBatch& nano_batch, Tag first_tag, PassState* before)
    : group_(group),
      backend_(backend),
      model_(model),
      dtype_(model.dtype()),
      gradient_dtype_(options.gradient_dtype.value_or(model.dtype())),
      inputs_(options.inputs),
      deadline_seconds_(options.deadline_seconds),
      training_(pass.training),
      program_(nano_batch.program),
      first_tag_(first_tag),
      before_(before),
      run_(model.start(nano_batch.tokens, pass.loss_scale, pass.training)),
      tasks_(attention_tasks(program_)),
      tasks_per_round_(tasks_per_round(program_)),
      layers_(static_cast<size_t>(model.layers())) {
  CADENZA_CHECK(end_tag() <= kFirstCollectiveTag, model.layers(), " layers, ",
                program_.rounds.size(), " rounds");
  if (program_.carried.empty()) return;
  CADENZA_CHECK(before_ != nullptr && !program_.carried.front().from.empty(),
                "keys carried from nowhere");
  before_->behind_ = this;
}

Tag PassState::end_tag() const {
  const auto tags_per_layer = kInputs + 2 * static_cast<Tag>(program_.rounds.size());
  return first_tag_ + static_cast<Tag>(layers_.size()) * tags_per_layer;
}

void PassState::execute(const Action& action) {
  throw_if_interrupted();
  switch (action.kind) {
    case Action::Kind::kSegmentForward:
      return segment_forward(action.index);
    case Action::Kind::kSendInputs:
      return send_inputs(action.index);
    case Action::Kind::kAttendForward:
      return attend_forward(action.index);
    case Action::Kind::kMergeOutputs:
      return merge_outputs(action.index);
    case Action::Kind::kSendGradients:
      return send_gradients(action.index);
    case Action::Kind::kAttendBackward:
      return attend_backward(action.index);
    case Action::Kind::kSumGradients:
      return sum_gradients(action.index);
    case Action::Kind::kSegmentBackward:
      return segment_backward(action.index);
  }
}

NanoBatchResult PassState::finish(PassTimes& times) {
  times.segment_seconds += times_.segment_seconds;
  times.attention_seconds += times_.attention_seconds;
  times.pack_seconds += exchange_times_.pack_seconds;
  times.wait_seconds += exchange_times_.wait_seconds;
  times.sent_bytes += exchange_times_.sent_bytes;
  return {.row_losses = run_->row_losses(), .first_bad_row = first_bad_row_};
}

void PassState::segment_forward(int segment) {
  const Stopwatch watch(times_.segment_seconds);
  const bool last = segment == model_.layers();
  const RowsView o =
      segment == 0 ? RowsView{} : layers_[static_cast<size_t>(segment - 1)].home.o.view();
  if (last) {
    run_->forward(segment, o, {});
  } else {
    HomeBuffers& home = layers_[static_cast<size_t>(segment)].home;
    home.q = home_q_rows(dtype_);
    home.k = home_kv_rows(dtype_);
    home.v = home_kv_rows(dtype_);
    run_->forward(segment, o, {home.q.view(), own(home.k), own(home.v)});
  }
  // Without a backward, nothing reads the layer before again.
  if (!training_ && segment > 0) layers_[static_cast<size_t>(segment - 1)] = {};
}

void PassState::send_inputs(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  ServerBuffers& server = state.server;
  server.q = server_q_rows(dtype_);
  server.k = server_kv_rows(dtype_);
  server.v = server_kv_rows(dtype_);
  carry_keys(layer);
  state.inputs.resize(program_.rounds.size());
  start_round(layer, 0);

  home.o = zeroed(home_q_rows(kSums));
  home.lse = statistics(program_.home_rows);
  backend_.fill(home.lse.view(), kNoKeys);
  const ExchangePart partials[] = {{arriving(home.o, dtype_), RowsOf::kQ},
                                   {home.lse.view(), RowsOf::kQ}};
  state.from_server = new_exchange(layer, kOutputs);
  state.from_server->expect(program_.as_home, partials);
}

void PassState::carry_keys(int layer) {
  if (program_.carried.empty()) return;
  std::vector<RowRun> from;  // in the order of `to`, which is without gaps
  for (const CarriedRows& rows : program_.carried)
    from.push_back({rows.from, {0, model_.kv_heads()}});
  const HomeBuffers& source = before_->layers_[static_cast<size_t>(layer)].home;
  const HomeBuffers& target = layers_[static_cast<size_t>(layer)].home;
  const Stopwatch packing(exchange_times_.pack_seconds);
  for (const auto side : {&HomeBuffers::k, &HomeBuffers::v}) {
    const RowsView rows = (target.*side).view();
    const int64_t row_bytes = rows.row_stride * dtype_bytes(rows.dtype);
    backend_.pack_rows((source.*side).view(), from,
                       static_cast<std::byte*>(rows.data) + program_.home_rows * row_bytes);
  }
}

void PassState::start_round(int layer, size_t round) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  const InputRound& rows = program_.rounds[round];
  const auto parts = [](const RowBuffer& q, const RowBuffer& k, const RowBuffer& v) {
    return std::array{ExchangePart{q.view(), RowsOf::kQ}, ExchangePart{k.view(), RowsOf::kKv},
                      ExchangePart{v.view(), RowsOf::kKv}};
  };
  const auto at_home = parts(state.home.q, state.home.k, state.home.v);
  const auto at_server = parts(state.server.q, state.server.k, state.server.v);
  RoundExchanges& exchanges = state.inputs[round];
  const Tag tag = kInputs + 2 * static_cast<Tag>(round);
  exchanges.of_homes = new_exchange(layer, tag);
  exchanges.of_homes->expect(rows.of_homes, at_server);
  exchanges.of_homes->send(rows.from_home, at_home);
  exchanges.of_relays = new_exchange(layer, tag + 1);
  exchanges.of_relays->expect(rows.of_relays, at_server);
  exchanges.of_relays->send(rows.passed_on, at_server);
}

void PassState::receive_round(int layer, size_t round) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  ServerBuffers& server = state.server;
  const auto unpack = [&](const PeerRows& peer, auto parts) {
    backend_.unpack_rows(parts[0], peer.q, server.q.view());
    backend_.unpack_rows(parts[1], peer.kv, server.k.view());
    backend_.unpack_rows(parts[2], peer.kv, server.v.view());
  };
  state.inputs[round].of_homes->receive(deadline_seconds_, unpack);
  state.inputs[round].of_relays->receive(deadline_seconds_, unpack);
}

void PassState::attend_forward(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  ServerBuffers& server = state.server;
  const size_t rounds = program_.rounds.size();
  // One call merges its partials in fp32 whatever the output; partials of several calls need it.
  server.o = zeroed(server_q_rows(rounds == 1 ? dtype_ : kSums));
  server.lse = statistics(program_.server_q_rows);
  backend_.fill(server.lse.view(), kNoKeys);
  std::span<const AttentionTask> tasks = tasks_;
  for (size_t round = 0; round < rounds; ++round) {
    receive_round(layer, round);
    if (round + 1 < rounds) start_round(layer, round + 1);
    const Stopwatch watch(times_.attention_seconds);
    backend_.attention_forward({.shape = attention_shape(),
                                .tasks = tasks.first(tasks_per_round_[round]),
                                .q = server.q.view(),
                                .k = server.k.view(),
                                .v = server.v.view(),
                                .o = server.o.view(),
                                .lse = server.lse.view()});
    tasks = tasks.subspan(tasks_per_round_[round]);
  }
  server.o = rounded(std::move(server.o), dtype_);
  const ExchangePart partials[] = {{server.o.view(), RowsOf::kQ}, {server.lse.view(), RowsOf::kQ}};
  state.from_server->send(program_.as_server, partials);
  server.o = RowBuffer();
  server.lse = RowBuffer();
  if (!training_ || inputs_ == BackwardInputs::kSentAgain) server = {};
}

void PassState::merge_outputs(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  state.from_server->receive(deadline_seconds_, [&](const PeerRows& server, auto parts) {
    backend_.merge_rows(parts[0], dtype_, parts[1], server.q, home.o.view(), home.lse.view());
  });
  if (const auto sinks = model_.sinks(layer)) {
    backend_.apply_sinks(sinks->logits, home.o.view(), home.lse.view());
  }
  home.o = rounded(std::move(home.o), dtype_);
  for (RoundExchanges& round : state.inputs) {
    settle(round.of_homes);
    settle(round.of_relays);
  }
  settle(state.from_server);
}

void PassState::send_gradients(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  ServerBuffers& server = state.server;
  home.delta = statistics(program_.home_rows);
  backend_.row_dot(home.d_o.view(), home.o.view(), home.delta.view());
  if (const auto sinks = model_.sinks(layer)) {
    backend_.add_sink_gradients(sinks->logits, home.lse.view(), home.delta.view(), sinks->gradient);
  }

  server.d_o = server_q_rows(dtype_);
  server.lse = statistics(program_.server_q_rows);
  server.delta = statistics(program_.server_q_rows);
  const bool again = inputs_ == BackwardInputs::kSentAgain;
  if (again) {
    server.q = server_q_rows(dtype_);
    server.k = server_kv_rows(dtype_);
    server.v = server_kv_rows(dtype_);
  }
  const auto parts = [again](const auto& side) {
    std::vector<ExchangePart> sent{{side.d_o.view(), RowsOf::kQ},
                                   {side.lse.view(), RowsOf::kQ},
                                   {side.delta.view(), RowsOf::kQ}};
    if (again) {
      sent.push_back({side.q.view(), RowsOf::kQ});
      sent.push_back({side.k.view(), RowsOf::kKv});
      sent.push_back({side.v.view(), RowsOf::kKv});
    }
    return sent;
  };
  state.to_server = new_exchange(layer, kGradientInputs);
  state.to_server->expect(program_.as_server, parts(server));
  state.to_server->send(program_.as_home, parts(home));

  state.dq = zeroed(home_q_rows(kSums));
  state.dk = zeroed(home_kv_rows(kSums));
  state.dv = zeroed(home_kv_rows(kSums));
  const ExchangePart sums[] = {{arriving(state.dq, gradient_dtype_), RowsOf::kQ},
                               {arriving(state.dk, gradient_dtype_), RowsOf::kKv},
                               {arriving(state.dv, gradient_dtype_), RowsOf::kKv}};
  state.from_server = new_exchange(layer, kGradientOutputs);
  state.from_server->expect(program_.as_home, sums);
}

void PassState::attend_backward(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  ServerBuffers& server = state.server;
  state.to_server->receive(deadline_seconds_, [&](const PeerRows& home, auto parts) {
    backend_.unpack_rows(parts[0], home.q, server.d_o.view());
    backend_.unpack_rows(parts[1], home.q, server.lse.view());
    backend_.unpack_rows(parts[2], home.q, server.delta.view());
    if (inputs_ == BackwardInputs::kKept) return;
    backend_.unpack_rows(parts[3], home.q, server.q.view());
    backend_.unpack_rows(parts[4], home.kv, server.k.view());
    backend_.unpack_rows(parts[5], home.kv, server.v.view());
  });
  {
    const Stopwatch watch(times_.attention_seconds);
    server.dq = zeroed(server_q_rows(kSums));
    server.dk = zeroed(server_kv_rows(kSums));
    server.dv = zeroed(server_kv_rows(kSums));
    backend_.attention_backward({.shape = attention_shape(),
                                 .tasks = tasks_,
                                 .q = server.q.view(),
                                 .k = server.k.view(),
                                 .v = server.v.view(),
                                 .d_o = server.d_o.view(),
                                 .lse = server.lse.view(),
                                 .delta = server.delta.view(),
                                 .dq = server.dq.view(),
                                 .dk = server.dk.view(),
                                 .dv = server.dv.view()});
  }
  for (RowBuffer* sums : {&server.dq, &server.dk, &server.dv}) {
    *sums = rounded(std::move(*sums), gradient_dtype_);
  }
  const ExchangePart gradients[] = {{server.dq.view(), RowsOf::kQ},
                                    {server.dk.view(), RowsOf::kKv},
                                    {server.dv.view(), RowsOf::kKv}};
  state.from_server->send(program_.as_server, gradients);
  server = {};
}

void PassState::sum_gradients(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  state.from_server->receive(deadline_seconds_, [&](const PeerRows& server, auto parts) {
    backend_.add_rows(parts[0], gradient_dtype_, server.q, state.dq.view());
    backend_.add_rows(parts[1], gradient_dtype_, server.kv, state.dk.view());
    backend_.add_rows(parts[2], gradient_dtype_, server.kv, state.dv.view());
  });
  keep_carried_sums(layer);
  add_carried_sums(layer);
  for (RowBuffer* sums : {&state.dq, &state.dk, &state.dv}) {
    *sums = rounded(std::move(*sums), dtype_);
  }
  settle(state.to_server);
  settle(state.from_server);
}

void PassState::keep_carried_sums(int layer) {
  if (program_.carried.empty()) return;
  LayerState& state = layers_[static_cast<size_t>(layer)];
  const Stopwatch packing(exchange_times_.pack_seconds);
  const auto tail = [&](const RowBuffer& sums) {
    const RowRun run{{program_.home_rows, program_.home_kv_rows}, {0, model_.kv_heads()}};
    RowBuffer kept(run.rows.size(), model_.kv_heads(), model_.head_dim(), kSums);
    backend_.pack_rows(sums.view(), {&run, 1}, static_cast<std::byte*>(kept.view().data));
    return kept;
  };
  state.carried_dk = tail(state.dk);
  state.carried_dv = tail(state.dv);
}

void PassState::add_carried_sums(int layer) {
  if (behind_ == nullptr) return;
  std::vector<RowRun> runs;
  for (const CarriedRows& rows : behind_->program_.carried)
    runs.push_back({rows.from, {0, model_.kv_heads()}});
  LayerState& state = layers_[static_cast<size_t>(layer)];
  LayerState& theirs = behind_->layers_[static_cast<size_t>(layer)];
  CADENZA_CHECK(theirs.carried_dk.view().rows > 0, "layer ", layer,
                ": the schedule sums the first nano-batch before the second");
  const Stopwatch packing(exchange_times_.pack_seconds);
  const auto add = [&](RowBuffer& kept, const RowBuffer& sums) {
    backend_.add_rows(static_cast<const std::byte*>(kept.view().data), kSums, runs, sums.view());
    kept = RowBuffer();
  };
  add(theirs.carried_dk, state.dk);
  add(theirs.carried_dv, state.dv);
}

void PassState::segment_backward(int segment) {
  const Stopwatch watch(times_.segment_seconds);
  const bool last = segment == model_.layers();
  RowsView d_o{};
  if (segment > 0) {
    HomeBuffers& before = layers_[static_cast<size_t>(segment - 1)].home;
    before.d_o = home_q_rows(dtype_);
    d_o = before.d_o.view();
  }
  if (last) {
    run_->backward(segment, {}, d_o);
  } else {
    LayerState& state = layers_[static_cast<size_t>(segment)];
    run_->backward(segment, {state.dq.view(), own(state.dk), own(state.dv)}, d_o);
    RowBuffer dk = std::move(state.carried_dk), dv = std::move(state.carried_dv);
    state = {};  // but what the other nano-batch is yet to add
    state.carried_dk = std::move(dk);
    state.carried_dv = std::move(dv);
  }
  if (segment == 0) first_bad_row_ = run_->first_bad_row();
}

RowBuffer PassState::home_q_rows(Dtype dtype) const {
  return {program_.home_rows, model_.heads(), model_.head_dim(), dtype};
}
RowBuffer PassState::home_kv_rows(Dtype dtype) const {
  return {program_.home_kv_rows, model_.kv_heads(), model_.head_dim(), dtype};
}
RowsView PassState::own(const RowBuffer& kv) const {
  RowsView view = kv.view();
  view.rows = program_.home_rows;
  return view;
}
RowBuffer PassState::server_q_rows(Dtype dtype) const {
  return {program_.server_q_rows, model_.heads(), model_.head_dim(), dtype};
}
RowBuffer PassState::server_kv_rows(Dtype dtype) const {
  return {program_.server_kv_rows, model_.kv_heads(), model_.head_dim(), dtype};
}

RowBuffer PassState::statistics(int64_t rows) const {
  return {rows, model_.heads(), 1, Dtype::kFloat32};
}

RowBuffer PassState::zeroed(RowBuffer buffer) {
  backend_.fill(buffer.view(), 0.0f);
  return buffer;
}

RowBuffer PassState::rounded(RowBuffer sums, Dtype dtype) {
  const RowsView& view = sums.view();
  if (view.dtype == dtype) return sums;
  const Stopwatch packing(exchange_times_.pack_seconds);
  RowBuffer narrow(view.rows, view.heads, view.dim, dtype);
  backend_.convert_rows(view, narrow.view());
  return narrow;
}

RowsView PassState::arriving(const RowBuffer& sums, Dtype dtype) {
  RowsView view = sums.view();
  view.dtype = dtype;
  return view;
}

std::unique_ptr<Exchange> PassState::new_exchange(int layer, Tag kind) {
  const auto tags_per_layer = kInputs + 2 * static_cast<Tag>(program_.rounds.size());
  const Tag tag = first_tag_ + static_cast<Tag>(layer) * tags_per_layer + kind;
  return std::make_unique<Exchange>(group_, backend_, tag, exchange_times_);
}

void PassState::settle(std::unique_ptr<Exchange>& exchange) {
  exchange->finish(deadline_seconds_);
  exchange.reset();
}

AttentionShape PassState::attention_shape() const {
  return {.heads = model_.heads(),
          .kv_heads = model_.kv_heads(),
          .head_dim = model_.head_dim(),
          .v_head_dim = model_.head_dim(),
          .scale = 1.0f / std::sqrt(static_cast<float>(model_.head_dim()))};
}

}  // namespace cadenza
