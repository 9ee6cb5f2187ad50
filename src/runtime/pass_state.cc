#include "runtime/pass_state.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/interrupt.h"
#include "runtime/stopwatch.h"

namespace cadenza {
namespace {

// Layers' exchanges count up from here; collectives have tags of their own, far above
// (comm/group.h).
constexpr Tag kFirstTag = 1;
// Exchanges of one layer that may be alive at once: to and from the server, forward and backward.
enum : Tag { kInputs, kOutputs, kGradientInputs, kGradientOutputs, kTagsPerLayer };

constexpr float kNoKeys = -std::numeric_limits<float>::infinity();

std::vector<AttentionTask> attention_tasks(const RankProgram& program) {
  std::vector<AttentionTask> tasks;
  tasks.reserve(program.tasks.size());
  for (const AttendTask& task : program.tasks) {
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

}  // namespace

PassState::PassState(Group& group, Backend& backend, Segments& model, double deadline_seconds,
                     const Pass& pass)
    : group_(group),
      backend_(backend),
      model_(model),
      deadline_seconds_(deadline_seconds),
      pass_(pass),
      run_(model.start(pass.tokens, pass.loss_scale, pass.training)),
      tasks_(attention_tasks(pass.program)),
      layers_(static_cast<size_t>(model.layers())) {}

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

PassResult PassState::finish() {
  times_.pack_seconds = exchange_times_.pack_seconds;
  times_.wait_seconds = exchange_times_.wait_seconds;
  times_.sent_bytes = exchange_times_.sent_bytes;
  return {.row_losses = run_->row_losses(), .first_bad_row = first_bad_row_, .times = times_};
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
    home.q = home_q_rows();
    home.k = home_kv_rows();
    home.v = home_kv_rows();
    run_->forward(segment, o, home.qkv());
  }
  // Without a backward, nothing reads the layer before again.
  if (!pass_.training && segment > 0) layers_[static_cast<size_t>(segment - 1)] = {};
}

void PassState::send_inputs(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  ServerBuffers& server = state.server;
  server.q = server_q_rows();
  server.k = server_kv_rows();
  server.v = server_kv_rows();
  const ExchangePart at_server[] = {{server.q.view(), RowsOf::kQ},
                                    {server.k.view(), RowsOf::kKv},
                                    {server.v.view(), RowsOf::kKv}};
  const ExchangePart at_home[] = {
      {home.q.view(), RowsOf::kQ}, {home.k.view(), RowsOf::kKv}, {home.v.view(), RowsOf::kKv}};
  state.to_server = new_exchange(layer, kInputs);
  state.to_server->expect(pass_.program.as_server, at_server);
  state.to_server->send(pass_.program.as_home, at_home);

  home.o = zeroed(home_q_rows());
  home.lse = RowBuffer(pass_.program.home_rows, model_.heads(), 1);
  backend_.fill(home.lse.view(), kNoKeys);
  const ExchangePart partials[] = {{home.o.view(), RowsOf::kQ}, {home.lse.view(), RowsOf::kQ}};
  state.from_server = new_exchange(layer, kOutputs);
  state.from_server->expect(pass_.program.as_home, partials);
}

void PassState::attend_forward(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  ServerBuffers& server = state.server;
  state.to_server->receive(deadline_seconds_, [&](const PeerRows& home, auto parts) {
    backend_.unpack_rows(parts[0], home.q, server.q.view());
    backend_.unpack_rows(parts[1], home.kv, server.k.view());
    backend_.unpack_rows(parts[2], home.kv, server.v.view());
  });
  {
    const Stopwatch watch(times_.attention_seconds);
    server.o = zeroed(server_q_rows());
    server.lse = RowBuffer(pass_.program.server_q_rows, model_.heads(), 1);
    backend_.fill(server.lse.view(), kNoKeys);
    backend_.attention_forward({.shape = attention_shape(),
                                .tasks = tasks_,
                                .q = server.q.view(),
                                .k = server.k.view(),
                                .v = server.v.view(),
                                .o = server.o.view(),
                                .lse = server.lse.view()});
  }
  const ExchangePart partials[] = {{server.o.view(), RowsOf::kQ}, {server.lse.view(), RowsOf::kQ}};
  state.from_server->send(pass_.program.as_server, partials);
  server.o = RowBuffer();
  server.lse = RowBuffer();
  if (!pass_.training) server = {};
}

void PassState::merge_outputs(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  state.from_server->receive(deadline_seconds_, [&](const PeerRows& server, auto parts) {
    backend_.merge_rows(parts[0], Dtype::kFloat32, parts[1], server.q, home.o.view(),
                        home.lse.view());
  });
  if (const auto sinks = model_.sinks(layer)) {
    backend_.apply_sinks(sinks->logits, home.o.view(), home.lse.view());
  }
  settle(state.to_server);
  settle(state.from_server);
}

void PassState::send_gradients(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  HomeBuffers& home = state.home;
  ServerBuffers& server = state.server;
  home.delta = RowBuffer(pass_.program.home_rows, model_.heads(), 1);
  backend_.row_dot(home.d_o.view(), home.o.view(), home.delta.view());
  if (const auto sinks = model_.sinks(layer)) {
    backend_.add_sink_gradients(sinks->logits, home.lse.view(), home.delta.view(), sinks->gradient);
  }

  server.d_o = server_q_rows();
  server.lse = RowBuffer(pass_.program.server_q_rows, model_.heads(), 1);
  server.delta = RowBuffer(pass_.program.server_q_rows, model_.heads(), 1);
  const auto parts = [](const RowBuffer& d_o, const RowBuffer& lse, const RowBuffer& delta) {
    return std::array{ExchangePart{d_o.view(), RowsOf::kQ}, ExchangePart{lse.view(), RowsOf::kQ},
                      ExchangePart{delta.view(), RowsOf::kQ}};
  };
  state.to_server = new_exchange(layer, kGradientInputs);
  state.to_server->expect(pass_.program.as_server, parts(server.d_o, server.lse, server.delta));
  state.to_server->send(pass_.program.as_home, parts(home.d_o, home.lse, home.delta));

  state.dq = zeroed(home_q_rows());
  state.dk = zeroed(home_kv_rows());
  state.dv = zeroed(home_kv_rows());
  const ExchangePart sums[] = {{state.dq.view(), RowsOf::kQ},
                               {state.dk.view(), RowsOf::kKv},
                               {state.dv.view(), RowsOf::kKv}};
  state.from_server = new_exchange(layer, kGradientOutputs);
  state.from_server->expect(pass_.program.as_home, sums);
}

void PassState::attend_backward(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  ServerBuffers& server = state.server;
  state.to_server->receive(deadline_seconds_, [&](const PeerRows& home, auto parts) {
    backend_.unpack_rows(parts[0], home.q, server.d_o.view());
    backend_.unpack_rows(parts[1], home.q, server.lse.view());
    backend_.unpack_rows(parts[2], home.q, server.delta.view());
  });
  {
    const Stopwatch watch(times_.attention_seconds);
    server.dq = zeroed(server_q_rows());
    server.dk = zeroed(server_kv_rows());
    server.dv = zeroed(server_kv_rows());
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
  const ExchangePart gradients[] = {{server.dq.view(), RowsOf::kQ},
                                    {server.dk.view(), RowsOf::kKv},
                                    {server.dv.view(), RowsOf::kKv}};
  state.from_server->send(pass_.program.as_server, gradients);
  server = {};
}

void PassState::sum_gradients(int layer) {
  LayerState& state = layers_[static_cast<size_t>(layer)];
  state.from_server->receive(deadline_seconds_, [&](const PeerRows& server, auto parts) {
    backend_.add_rows(parts[0], Dtype::kFloat32, server.q, state.dq.view());
    backend_.add_rows(parts[1], Dtype::kFloat32, server.kv, state.dk.view());
    backend_.add_rows(parts[2], Dtype::kFloat32, server.kv, state.dv.view());
  });
  settle(state.to_server);
  settle(state.from_server);
}

void PassState::segment_backward(int segment) {
  const Stopwatch watch(times_.segment_seconds);
  const bool last = segment == model_.layers();
  RowsView d_o{};
  if (segment > 0) {
    HomeBuffers& before = layers_[static_cast<size_t>(segment - 1)].home;
    before.d_o = home_q_rows();
    d_o = before.d_o.view();
  }
  if (last) {
    run_->backward(segment, {}, d_o);
  } else {
    LayerState& state = layers_[static_cast<size_t>(segment)];
    run_->backward(segment, {state.dq.view(), state.dk.view(), state.dv.view()}, d_o);
    state = {};
  }
  if (segment == 0) first_bad_row_ = run_->first_bad_row();
}

RowBuffer PassState::home_q_rows() const {
  return {pass_.program.home_rows, model_.heads(), model_.head_dim()};
}
RowBuffer PassState::home_kv_rows() const {
  return {pass_.program.home_rows, model_.kv_heads(), model_.head_dim()};
}
RowBuffer PassState::server_q_rows() const {
  return {pass_.program.server_q_rows, model_.heads(), model_.head_dim()};
}
RowBuffer PassState::server_kv_rows() const {
  return {pass_.program.server_kv_rows, model_.kv_heads(), model_.head_dim()};
}

RowBuffer PassState::zeroed(RowBuffer buffer) {
  backend_.fill(buffer.view(), 0.0f);
  return buffer;
}

std::unique_ptr<Exchange> PassState::new_exchange(int layer, Tag kind) {
  const Tag tag = kFirstTag + static_cast<Tag>(layer) * kTagsPerLayer + kind;
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
