#pragma once

#include <cstdint>
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
    // Of a whole step, once:
    kPostPlans,     // rank 0 posts the next step's plans to the others
    kReceivePlans,  // they arrive; verifying and compiling them begins
    kShareStatus,   // losses and troubles of all ranks: nobody goes on unless all are well
    kReduceGradients,
    kUpdate,  // of the weights
  };
  Kind kind = Kind::kSegmentForward;
  int index = 0;
  int nano_batch = 0;
  int micro_batch = 0;

  bool operator==(const Action&) const = default;
};

/// The plain schedule of one micro-batch: one nano-batch, no overlap; the reference for
/// correctness. Forward only where not training.
std::vector<Action> plain_schedule(int layers, bool training);

/// The ping-pong schedule of two nano-batches A and B: while the exchange of one is on the wire,
/// the other computes. In each layer the forward attends A before B and the backward B before A,
/// because B's queries may see A's keys of one document: B copies those keys before it sends its
/// inputs, and A adds the gradients that B has summed for them. Forward only where not training.
std::vector<Action> ping_pong_schedule(int layers, bool training);

/// Which schedule a run uses.
enum class ScheduleKind { kPlain, kPingPong };
const char* schedule_name(ScheduleKind kind);  // "plain", "ping-pong"
std::vector<Action> make_schedule(ScheduleKind kind, int layers, bool training);

/// A whole step: the passes of its micro-batches one after the other, then status, reduction and
/// update. The next step's plans travel inside the last micro-batch: rank 0 posts them when its
/// forward is done, the others take them in the middle of their backward, so that nobody waits.
std::vector<Action> step_schedule(ScheduleKind kind, int layers, int micro_batches);

/// True for the actions of a pass over a micro-batch.
bool is_of_pass(Action::Kind kind);

/// "A segment_forward 0": nano-batch, what is done, segment or layer; "update" and the like for
/// those of a whole step.
std::string to_string(const Action& action);

}  // namespace cadenza
