#pragma once

#include <cstdint>
#include <span>

#include "core/model_shape.h"

namespace cadenza {

/// The tensors of one layer that travel between ranks, a row for each token.
enum class RowTensor { kQ, kK, kV, kO, kLse, kDO, kDelta, kDQ, kDK, kDV };
inline constexpr int kRowTensors = 10;
const char* tensor_name(RowTensor tensor);  // "Q", "LSE", "dK", ...

/// Whose rows and heads a tensor has: those of queries or those of keys.
enum class RowKind { kQueries, kKeys };

/// In what a tensor's elements travel: the rows' dtype, the gradients', or fp32, one for each row
/// and head.
enum class WireType { kRows, kGradients, kStatistics };

/// What the receiver does with rows that came. Merging is by log-sum-exp, O and LSE together; both
/// merging and adding go in the order of ranks.
enum class Combine { kPlace, kMerge, kAdd };

struct ExchangedTensor {
  RowTensor tensor;
  RowKind rows;
  WireType type;
};

/// The four exchanges of one layer, in the order in which a step runs them.
enum class LayerExchange {
  kInputs,           // homes to servers, and servers to servers where a plan has relays
  kOutputs,          // servers to homes: partials
  kGradientInputs,   // homes to servers
  kGradientOutputs,  // servers to homes: partial sums
};

/// Whether servers keep Q, K and V from the forward, or get them again, straight from their homes.
enum class BackwardInputs { kKept, kSentAgain };

/// One row of the table: what a message of the exchange holds, in this order, and what becomes of
/// it.
struct ExchangeContents {
  Combine combine;
  std::span<const ExchangedTensor> tensors;
};

/// The table. Runtime, byte counts and whoever prices an exchange read it, and nothing else says
/// what travels.
ExchangeContents contents_of(LayerExchange exchange, BackwardInputs inputs = BackwardInputs::kKept);

Dtype wire_dtype(WireType type, const ModelShape& shape);

/// Elements of one row of one head.
inline int64_t row_dim(WireType type, const ModelShape& shape) {
  return type == WireType::kStatistics ? 1 : shape.head_dim;
}

/// Bytes of one row of one head.
inline int64_t wire_bytes(const ExchangedTensor& tensor, const ModelShape& shape) {
  return row_dim(tensor.type, shape) * dtype_bytes(wire_dtype(tensor.type, shape));
}

/// Bytes that one row of one head takes in a message of the exchange: the sum over its tensors of
/// this kind.
int64_t wire_bytes(LayerExchange exchange, RowKind rows, const ModelShape& shape,
                   BackwardInputs inputs = BackwardInputs::kKept);

}  // namespace cadenza
