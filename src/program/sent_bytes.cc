#include "program/rank_program.h"

namespace cadenza {
namespace {

int64_t rows_times_heads(const std::vector<RowRun>& runs) {
  int64_t sum = 0;
  for (const RowRun& run : runs) sum += run.rows.size() * run.heads.size();
  return sum;
}

}  // namespace

ProgramBytes sent_bytes(const RankProgram& program, const ModelShape& shape,
                        BackwardInputs inputs) {
  constexpr int64_t kFloatBytes = 4;                              // of LSE and D
  const int64_t row = shape.head_dim * dtype_bytes(shape.dtype);  // of one head
  const int64_t gradient_row = shape.head_dim * dtype_bytes(shape.gradient_dtype());
  ProgramBytes bytes;
  const auto add_inputs = [&](const std::vector<PeerRows>& servers) {
    for (const PeerRows& server : servers) {
      if (server.peer == program.rank) continue;
      bytes.forward_q += rows_times_heads(server.q) * row;
      bytes.forward_kv += 2 * rows_times_heads(server.kv) * row;
    }
  };
  for (const InputRound& round : program.rounds) {
    add_inputs(round.from_home);
    add_inputs(round.passed_on);
  }
  for (const PeerRows& server : program.as_home) {
    if (server.peer == program.rank) continue;
    bytes.backward_q += rows_times_heads(server.q) * (row + 2 * kFloatBytes);
    if (inputs == BackwardInputs::kKept) continue;
    bytes.backward_q += rows_times_heads(server.q) * row;
    bytes.backward_kv += 2 * rows_times_heads(server.kv) * row;
  }
  for (const PeerRows& home : program.as_server) {
    if (home.peer == program.rank) continue;
    const int64_t q = rows_times_heads(home.q), kv = rows_times_heads(home.kv);
    bytes.forward_o += q * (row + kFloatBytes);
    bytes.backward_q += q * gradient_row;
    bytes.backward_kv += 2 * kv * gradient_row;
  }
  return bytes;
}

}  // namespace cadenza
