#include "program/schedule.h"

#include "base/cat.h"

namespace cadenza {

using Kind = Action::Kind;

std::vector<Action> plain_schedule(int layers, bool training) {
  std::vector<Action> actions;
  for (int layer = 0; layer < layers; ++layer) {
    actions.push_back({Kind::kSegmentForward, layer});
    for (const Kind kind : {Kind::kSendInputs, Kind::kAttendForward, Kind::kMergeOutputs}) {
      actions.push_back({kind, layer});
    }
  }
  actions.push_back({Kind::kSegmentForward, layers});
  if (!training) return actions;
  actions.push_back({Kind::kSegmentBackward, layers});
  for (int layer = layers - 1; layer >= 0; --layer) {
    for (const Kind kind : {Kind::kSendGradients, Kind::kAttendBackward, Kind::kSumGradients}) {
      actions.push_back({kind, layer});
    }
    actions.push_back({Kind::kSegmentBackward, layer});
  }
  return actions;
}

namespace {

constexpr int kA = 0, kB = 1;

/// Segment `segment` of a nano-batch's forward, and, where a layer follows it, that layer's inputs
/// on their way.
void start_layer(std::vector<Action>& actions, int nano_batch, int segment, int layers) {
  actions.push_back({Kind::kSegmentForward, segment, nano_batch});
  if (segment < layers) actions.push_back({Kind::kSendInputs, segment, nano_batch});
}

/// The same of the backward.
void start_layer_backward(std::vector<Action>& actions, int nano_batch, int segment) {
  actions.push_back({Kind::kSegmentBackward, segment, nano_batch});
  if (segment > 0) actions.push_back({Kind::kSendGradients, segment - 1, nano_batch});
}

}  // namespace

std::vector<Action> ping_pong_schedule(int layers, bool training) {
  std::vector<Action> actions;
  for (const int nano : {kA, kB}) start_layer(actions, nano, 0, layers);
  for (int layer = 0; layer < layers; ++layer) {
    for (const int nano : {kA, kB}) actions.push_back({Kind::kAttendForward, layer, nano});
    for (const int nano : {kA, kB}) {
      actions.push_back({Kind::kMergeOutputs, layer, nano});
      start_layer(actions, nano, layer + 1, layers);
    }
  }
  if (!training) return actions;
  for (const int nano : {kB, kA}) start_layer_backward(actions, nano, layers);
  for (int layer = layers - 1; layer >= 0; --layer) {
    for (const int nano : {kB, kA}) actions.push_back({Kind::kAttendBackward, layer, nano});
    for (const int nano : {kB, kA}) {
      actions.push_back({Kind::kSumGradients, layer, nano});
      start_layer_backward(actions, nano, layer);
    }
  }
  return actions;
}

const char* schedule_name(ScheduleKind kind) {
  return kind == ScheduleKind::kPlain ? "plain" : "ping-pong";
}

std::vector<Action> make_schedule(ScheduleKind kind, int layers, bool training) {
  return kind == ScheduleKind::kPlain ? plain_schedule(layers, training)
                                      : ping_pong_schedule(layers, training);
}

bool is_of_pass(Action::Kind kind) {
  switch (kind) {
    case Kind::kPostPlans:
    case Kind::kReceivePlans:
    case Kind::kShareStatus:
    case Kind::kReduceGradients:
    case Kind::kUpdate:
      return false;
    default:
      return true;
  }
}

std::vector<Action> step_schedule(ScheduleKind kind, int layers, int micro_batches) {
  std::vector<Action> actions;
  bool posted = false, received = false;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    const bool last = micro_batch + 1 == micro_batches;
    for (Action action : make_schedule(kind, layers, /*training=*/true)) {
      action.micro_batch = micro_batch;
      if (last && action.kind == Kind::kSegmentBackward) {
        if (!posted) {
          actions.push_back({.kind = Kind::kPostPlans, .micro_batch = micro_batch});
          posted = true;
        } else if (!received && action.index <= layers / 2) {
          actions.push_back({.kind = Kind::kReceivePlans, .micro_batch = micro_batch});
          received = true;
        }
      }
      actions.push_back(action);
    }
  }
  for (const Kind of_step : {Kind::kShareStatus, Kind::kReduceGradients, Kind::kUpdate})
    actions.push_back({.kind = of_step, .micro_batch = micro_batches - 1});
  return actions;
}

std::string to_string(const Action& action) {
  const char* name = "";
  switch (action.kind) {
    case Kind::kSegmentForward:
      name = "segment_forward";
      break;
    case Kind::kSendInputs:
      name = "send_inputs";
      break;
    case Kind::kAttendForward:
      name = "attend_forward";
      break;
    case Kind::kMergeOutputs:
      name = "merge_outputs";
      break;
    case Kind::kSendGradients:
      name = "send_gradients";
      break;
    case Kind::kAttendBackward:
      name = "attend_backward";
      break;
    case Kind::kSumGradients:
      name = "sum_gradients";
      break;
    case Kind::kSegmentBackward:
      name = "segment_backward";
      break;
    case Kind::kPostPlans:
      return "post_plans";
    case Kind::kReceivePlans:
      return "receive_plans";
    case Kind::kShareStatus:
      return "share_status";
    case Kind::kReduceGradients:
      return "reduce_gradients";
    case Kind::kUpdate:
      return "update";
  }
  return cat(action.nano_batch == kA ? 'A' : 'B', ' ', name, ' ', action.index);
}

}  // namespace cadenza
