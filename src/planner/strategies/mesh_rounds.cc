#include "planner/strategies/mesh_rounds.h"

namespace cadenza {

MeshRounds::MeshRounds(MeshShape shape) : q{0}, kv{0} {
  const auto q_chunks = static_cast<size_t>(shape.q_chunks);
  const auto kv_chunks = static_cast<size_t>(shape.kv_chunks);
  for (int round = 1; q.size() < q_chunks || kv.size() < kv_chunks; ++round) {
    // A chunk of keys meets every chunk of queries there, and the other way round.
    const bool keys_next = q.size() == q_chunks ||  // all are there
                           (kv.size() < kv_chunks && q.size() >= kv.size());
    (keys_next ? kv : q).push_back(round);
  }
}

}  // namespace cadenza
