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
  }
  return cat(name, ' ', action.index);
}

}  // namespace cadenza
