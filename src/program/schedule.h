#pragma once

#include <string>
#include <vector>

namespace cadenza {

/// One action of a rank's step. A schedule is data: printed, priced, interpreted.
struct Action {
  enum class Kind {
    kSegmentForward,   // index = segment
    kSendInputs,       // index = layer: Q, K, V to the servers
    kAttendForward,    // receive inputs, attend, send O and LSE
    kMergeOutputs,     // receive O and LSE, merge
    kSendGradients,    // dO, LSE, D to the servers
    kAttendBackward,   // receive them, attend backward, send dQ, dK, dV
    kSumGradients,     // receive dQ, dK, dV, sum
    kSegmentBackward,  // index = segment
  };
  Kind kind = Kind::kSegmentForward;
  int index = 0;

  bool operator==(const Action&) const = default;
};

/// The plain schedule of one micro-batch: one nano-batch, no overlap; the reference for
/// correctness. Forward only where not training.
std::vector<Action> plain_schedule(int layers, bool training);

/// "segment_forward 0", one action.
std::string to_string(const Action& action);

}  // namespace cadenza
