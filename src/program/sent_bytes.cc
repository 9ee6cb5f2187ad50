#include "program/rank_program.h"

namespace cadenza {
namespace {

int64_t rows_times_heads(const std::vector<RowRun>& runs) {
  int64_t sum = 0;
  for (const RowRun& run : runs) sum += run.rows.size() * run.heads.size();
  return sum;
}

/// Rows x heads that go to other ranks.
struct SentRows {
  int64_t q = 0, kv = 0;

  void add(const std::vector<PeerRows>& peers, Rank self) {
    for (const PeerRows& peer : peers) {
      if (peer.peer == self) continue;
      q += rows_times_heads(peer.q);
      kv += rows_times_heads(peer.kv);
    }
  }
};

}  // namespace

ProgramBytes sent_bytes(const RankProgram& program, const ModelShape& shape,
                        BackwardInputs inputs) {
  SentRows sent_inputs, to_servers, to_homes;
  for (const InputRound& round : program.rounds) {
    sent_inputs.add(round.from_home, program.rank);
    sent_inputs.add(round.passed_on, program.rank);
  }
  to_servers.add(program.as_home, program.rank);
  to_homes.add(program.as_server, program.rank);
  const auto bytes = [&](LayerExchange exchange, RowKind rows) {
    return wire_bytes(exchange, rows, shape, inputs);
  };
  using enum LayerExchange;
  return {.forward_q = sent_inputs.q * bytes(kInputs, RowKind::kQueries),
          .forward_kv = sent_inputs.kv * bytes(kInputs, RowKind::kKeys),
          .forward_o = to_homes.q * bytes(kOutputs, RowKind::kQueries),
          .backward_q = to_servers.q * bytes(kGradientInputs, RowKind::kQueries) +
                        to_homes.q * bytes(kGradientOutputs, RowKind::kQueries),
          .backward_kv = to_servers.kv * bytes(kGradientInputs, RowKind::kKeys) +
                         to_homes.kv * bytes(kGradientOutputs, RowKind::kKeys)};
}

}  // namespace cadenza
