#pragma once

#include <cstdint>

namespace cadenza {

/// A rank number. Servers are numbered as ranks: training ranks first, then those that only serve.
using Rank = int;

/// Element type of tensors in memory and on the wire.
enum class Dtype { kFloat32, kBFloat16 };

/// Bytes of one element.
constexpr int64_t dtype_bytes(Dtype dtype) { return dtype == Dtype::kFloat32 ? 4 : 2; }

/// "fp32" or "bf16".
constexpr const char* dtype_name(Dtype dtype) { return dtype == Dtype::kFloat32 ? "fp32" : "bf16"; }

}  // namespace cadenza
