#include "core/exchange_table.h"

#include <gtest/gtest.h>

#include <string>

namespace cadenza {
namespace {

/// "place Q:q K:kv V:kv"
std::string text_of(LayerExchange exchange, BackwardInputs inputs = BackwardInputs::kKept) {
  const ExchangeContents contents = contents_of(exchange, inputs);
  std::string text = contents.combine == Combine::kPlace   ? "place"
                     : contents.combine == Combine::kMerge ? "merge"
                                                           : "add";
  for (const ExchangedTensor& tensor : contents.tensors) {
    text += std::string(" ") + tensor_name(tensor.tensor);
    text += tensor.rows == RowKind::kQueries ? ":q" : ":kv";
  }
  return text;
}

TEST(ExchangeTable, SaysWhatTravels) {
  EXPECT_EQ(text_of(LayerExchange::kInputs), "place Q:q K:kv V:kv");
  EXPECT_EQ(text_of(LayerExchange::kOutputs), "merge O:q LSE:q");
  EXPECT_EQ(text_of(LayerExchange::kGradientInputs), "place dO:q LSE:q D:q");
  EXPECT_EQ(text_of(LayerExchange::kGradientInputs, BackwardInputs::kSentAgain),
            "place dO:q LSE:q D:q Q:q K:kv V:kv");
  EXPECT_EQ(text_of(LayerExchange::kGradientOutputs), "add dQ:q dK:kv dV:kv");
}

TEST(ExchangeTable, CountsBytesOfARowOfAHead) {
  const ModelShape bf16{.head_dim = 64, .dtype = Dtype::kBFloat16, .grad_dtype = Dtype::kFloat32};
  EXPECT_EQ(wire_bytes(LayerExchange::kInputs, RowKind::kQueries, bf16), 64 * 2);
  EXPECT_EQ(wire_bytes(LayerExchange::kInputs, RowKind::kKeys, bf16), 2 * 64 * 2);
  EXPECT_EQ(wire_bytes(LayerExchange::kOutputs, RowKind::kQueries, bf16), 64 * 2 + 4);
  EXPECT_EQ(wire_bytes(LayerExchange::kOutputs, RowKind::kKeys, bf16), 0);
  EXPECT_EQ(wire_bytes(LayerExchange::kGradientInputs, RowKind::kQueries, bf16), 64 * 2 + 4 + 4);
  EXPECT_EQ(
      wire_bytes(LayerExchange::kGradientInputs, RowKind::kKeys, bf16, BackwardInputs::kSentAgain),
      2 * 64 * 2);
  EXPECT_EQ(wire_bytes(LayerExchange::kGradientOutputs, RowKind::kQueries, bf16), 64 * 4);
  EXPECT_EQ(wire_bytes(LayerExchange::kGradientOutputs, RowKind::kKeys, bf16), 2 * 64 * 4);
}

}  // namespace
}  // namespace cadenza
