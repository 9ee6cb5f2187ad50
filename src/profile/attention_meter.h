#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "core/model_shape.h"
#include "core/piece.h"
#include "kernels/backend.h"

namespace cadenza {

/// Times attention of single pieces as a fused call does them: small pieces are done several at
/// once, with query rows of their own, until the call is long enough to be timed.
class AttentionMeter {
 public:
  /// Buffers for pieces of at most so many query and key rows, filled with small numbers.
  AttentionMeter(Backend& backend, const ModelShape& shape, int64_t q_rows, int64_t kv_rows);

  struct Seconds {
    double forward = 0, backward = 0;
  };
  /// Of one call, divided by the number of copies of the piece in it. The piece begins at row 0 and
  /// key 0 of the buffers; its band is in those coordinates.
  Seconds measure(const Piece& piece);
  /// Of a call of all these pieces, each with query rows of its own.
  Seconds measure_batch(const std::vector<Piece>& pieces);

 private:
  struct Rows {
    Rows(int64_t rows, int64_t heads, int64_t dim, Dtype dtype);
    HostBlock block;
    RowsView view;
  };

  Seconds call(const std::vector<AttentionTask>& tasks);

  Backend& backend_;
  const ModelShape shape_;
  const int64_t q_room_;
  Rows q_, k_, v_, o_, lse_, d_o_, delta_, dq_, dk_, dv_;
};

/// Pairs that a timed call should hold at least: milliseconds on a core.
inline constexpr int64_t kTimedPairs = 256 * 1024;

}  // namespace cadenza
