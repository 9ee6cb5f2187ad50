#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/group.h"
#include "kernels/backend.h"
#include "model/segments.h"
#include "program/rank_program.h"
#include "program/schedule.h"

namespace cadenza {

/// Seconds that one rank spent in one pass, by what it did.
struct PassTimes {
  double segment_seconds = 0;    // context-independent part of the model
  double attention_seconds = 0;  // attention kernels
  double pack_seconds = 0;       // packing, unpacking, merging, summing rows
  double wait_seconds = 0;       // waiting for peers: transfer and imbalance
  int64_t sent_bytes = 0;        // to other ranks, without gradient reduction
};

/// What one nano-batch leaves behind on this rank.
struct NanoBatchResult {
  std::vector<float> row_losses;  // of this rank's rows
  int64_t first_bad_row = -1;     // whose embedding gradient is not finite
};

/// What one pass over one micro-batch leaves behind on this rank.
struct PassResult {
  std::vector<NanoBatchResult> nano_batches;
  PassTimes times;
};

/// One nano-batch to run: the program of the plan that all ranks agreed on, and this rank's rows.
struct NanoBatch {
  const RankProgram& program;
  const RankTokens& tokens;
};

/// One pass to run: as many nano-batches as the schedule's actions name. What the second one's
/// program carries over must be linked to the first (program/rank_program.h).
struct Pass {
  std::vector<NanoBatch> nano_batches;
  const std::vector<Action>& schedule;
  double loss_scale = 0;
  bool training = true;
};

/// Interprets a schedule and a program on one rank. Every rank of the group runs the same schedule.
/// Nothing here knows which strategy made the plan, or touches a row's bytes: that is the
/// backend's.
class RankRuntime {
 public:
  struct Options {
    double deadline_seconds = 60;         // the longest single wait for a peer
    std::optional<Dtype> gradient_dtype;  // in which dQ, dK and dV travel; default: the model's
    // What servers compute the backward from: memory kept since the forward, or bytes sent again.
    BackwardInputs inputs = BackwardInputs::kKept;
  };

  RankRuntime(Group& group, Backend& backend, Segments& model, const Options& options)
      : group_(group), backend_(backend), model_(model), options_(options) {}

  /// PeerError when a peer is lost or late, Interrupted on Ctrl-C; the group is then of no use for
  /// a further pass.
  PassResult run(const Pass& pass);

 private:
  Group& group_;
  Backend& backend_;
  Segments& model_;
  Options options_;
};

}  // namespace cadenza
