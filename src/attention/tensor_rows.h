#pragma once

#include <array>

#include "attention/row_buffer.h"
#include "core/exchange_table.h"

namespace cadenza {

/// The buffers of one layer on one side, home or server, by tensor; empty ones hold no memory.
///
/// Rows are in the model's dtype, sums in fp32: LSE and D always, O while partials merge into it,
/// and dQ, dK, dV while they are added up.
class TensorRows {
 public:
  RowBuffer& operator[](RowTensor tensor) { return rows_[static_cast<size_t>(tensor)]; }
  const RowBuffer& operator[](RowTensor tensor) const { return rows_[static_cast<size_t>(tensor)]; }

  template <typename... Tensors>
  void free(Tensors... tensors) {
    (((*this)[tensors] = RowBuffer()), ...);
  }

 private:
  std::array<RowBuffer, kRowTensors> rows_;
};

}  // namespace cadenza
