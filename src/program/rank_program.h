#pragma once

#include <cstdint>
#include <vector>

#include "core/model_shape.h"
#include "core/row_run.h"
#include "core/traffic.h"
#include "core/verify_plan.h"

namespace cadenza {

/// The rows that pass between this rank and one peer. Both ends list the same rows in the same
/// order: the home in rows of its home layout, the server in rows of its server layout.
struct PeerRows {
  Rank peer = 0;
  std::vector<RowRun> q;   // of Q, O, LSE, dO, D, dQ; heads are query heads
  std::vector<RowRun> kv;  // of K, V, dK, dV; heads are kv heads
};

/// One task in rows of the server layout: query row q.begin + i sees key row kv.begin + j where
/// band.lowest <= j - i <= band.highest.
struct AttendTask {
  Range q, kv;
  Band band;
  Range heads;
  int round = 0;
  bool merge = false;  // another task of this rank reads the same rows of q: outputs are merged
};

/// Q, K and V that move for one round of tasks, while the round before computes. Only the forward
/// has rounds and relays: dO, LSE and D go to the servers in one exchange, and gradients are sums
/// that a server returns once, straight to their homes.
struct InputRound {
  std::vector<PeerRows> from_home;  // to each server: rows of this rank's home layout
  std::vector<PeerRows> passed_on;  // to each server: rows of this rank's server layout
  // What comes: from homes, and from servers that pass rows on. Rows of this rank's server layout.
  std::vector<PeerRows> of_homes, of_relays;
};

/// Keys of a document that lies in both nano-batches of a ping-pong: rows of the first that the
/// second reads too. Their K and V are copied before the second sends its inputs, and its dK and dV
/// for them are added to those of the first.
struct CarriedRows {
  int document = 0;  // of the second plan
  Range rows;        // document coordinates
  Range to;          // rows of the second's home layout of K and V, behind its own
  Range from;        // rows of the first's home layout; empty until link_carried_rows()
};

/// What one rank does for one batch in every layer, forward and backward. Everything is known
/// before anything is sent.
///
///   forward   home:   send Q, K, V rows by as_home[..] to each server
///             server: receive them by as_server[..], attend all tasks, send O, LSE back by
///             as_server[..].q home:   merge the servers' partials in the order of ranks by
///             as_home[..].q
///   backward  home:   send dO, LSE, D by as_home[..].q;   server: attend backward;
///             server: send dQ by .q, dK, dV by .kv back;  home: add them in the order of ranks
///
/// A rank that is its own server is listed among its peers: those rows are copied, not sent.
///
/// Q, K and V come round by round: one where the plan names no rounds, and it is then as_home and
/// as_server. What round r + 1 needs is sent when the rows of round r have come, so a rank waits
/// only for what its peers send before they compute that round: by induction from round 0, which
/// waits for nothing, no wait is circular.
struct RankProgram {
  Rank rank = 0;
  int64_t home_rows = 0;      // rows of the home layout: this rank's tokens
  int64_t home_kv_rows = 0;   // the same of K, V: behind the tokens' the carried rows
  int64_t server_q_rows = 0;  // rows of the server layout of Q, contiguous by (document, position)
  int64_t server_kv_rows =
      0;  // the same of K, V: every row that the tasks read, this rank's own included, once
  std::vector<PeerRows> as_home;     // servers that read rows of this rank, in the order of ranks
  std::vector<PeerRows> as_server;   // homes whose rows this rank reads, in the order of ranks
  std::vector<AttendTask> tasks;     // in task-id order
  std::vector<InputRound> rounds;    // as many on every rank, at least one
  std::vector<CarriedRows> carried;  // by `to`, which lie one after the other
};

/// One rank's program. PlanError where the tasks name another number of heads.
RankProgram compile_plan(const VerifiedPlan& plan, int64_t heads, int64_t kv_heads, Rank rank);
/// The same of every rank, by rank.
std::vector<RankProgram> compile_plan(const VerifiedPlan& plan, int64_t heads, int64_t kv_heads);

/// Finds what `second`, the program of a ping-pong's second nano-batch on `rank`, carries over from
/// the first, whose batch is given. PlanError where the first does not hold it.
void link_carried_rows(const Batch& first, Rank rank, RankProgram& second);

/// Bytes that this rank sends to others in one layer: rows in the shape's dtype, dQ, dK and dV in
/// its gradient dtype, LSE and D in fp32.
struct ProgramBytes {
  int64_t forward_q = 0, forward_kv = 0, forward_o = 0;
  int64_t backward_q = 0;   // dO, LSE, D and dQ; Q if sent again
  int64_t backward_kv = 0;  // dK, dV; K, V if sent again
  int64_t total() const { return forward_q + forward_kv + forward_o + backward_q + backward_kv; }
};
/// `inputs` kSentAgain adds Q, K and V to the backward's.
ProgramBytes sent_bytes(const RankProgram& program, const ModelShape& shape,
                        BackwardInputs inputs = BackwardInputs::kKept);

}  // namespace cadenza
