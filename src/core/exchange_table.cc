#include "core/exchange_table.h"

#include <array>

namespace cadenza {
namespace {

using enum RowTensor;

constexpr auto kOfQueries = RowKind::kQueries;
constexpr auto kOfKeys = RowKind::kKeys;
constexpr auto kRows = WireType::kRows;
constexpr auto kGradients = WireType::kGradients;
constexpr auto kStatistics = WireType::kStatistics;

constexpr ExchangedTensor kInputs[] = {
    {kQ, kOfQueries, kRows}, {kK, kOfKeys, kRows}, {kV, kOfKeys, kRows}};

constexpr ExchangedTensor kOutputs[] = {{kO, kOfQueries, kRows}, {kLse, kOfQueries, kStatistics}};

constexpr ExchangedTensor kGradientInputs[] = {{kDO, kOfQueries, kRows},
                                               {kLse, kOfQueries, kStatistics},
                                               {kDelta, kOfQueries, kStatistics},
                                               // From here on only where they are sent again.
                                               {kQ, kOfQueries, kRows},
                                               {kK, kOfKeys, kRows},
                                               {kV, kOfKeys, kRows}};
constexpr size_t kAlwaysSent = 3;

constexpr ExchangedTensor kGradientOutputs[] = {
    {kDQ, kOfQueries, kGradients}, {kDK, kOfKeys, kGradients}, {kDV, kOfKeys, kGradients}};

}  // namespace

const char* tensor_name(RowTensor tensor) {
  constexpr std::array<const char*, kRowTensors> kNames{"Q",  "K", "V",  "O",  "LSE",
                                                        "dO", "D", "dQ", "dK", "dV"};
  return kNames[static_cast<size_t>(tensor)];
}

ExchangeContents contents_of(LayerExchange exchange, BackwardInputs inputs) {
  switch (exchange) {
    case LayerExchange::kInputs:
      return {Combine::kPlace, kInputs};
    case LayerExchange::kOutputs:
      return {Combine::kMerge, kOutputs};
    case LayerExchange::kGradientInputs: {
      const std::span<const ExchangedTensor> all = kGradientInputs;
      return {Combine::kPlace, inputs == BackwardInputs::kSentAgain ? all : all.first(kAlwaysSent)};
    }
    case LayerExchange::kGradientOutputs:
      break;
  }
  return {Combine::kAdd, kGradientOutputs};
}

Dtype wire_dtype(WireType type, const ModelShape& shape) {
  switch (type) {
    case WireType::kRows:
      return shape.dtype;
    case WireType::kGradients:
      return shape.gradient_dtype();
    case WireType::kStatistics:
      break;
  }
  return Dtype::kFloat32;
}

int64_t wire_bytes(LayerExchange exchange, RowKind rows, const ModelShape& shape,
                   BackwardInputs inputs) {
  int64_t bytes = 0;
  for (const ExchangedTensor& tensor : contents_of(exchange, inputs).tensors) {
    if (tensor.rows == rows) bytes += wire_bytes(tensor, shape);
  }
  return bytes;
}

}  // namespace cadenza
