#include "kernels/backend.h"

namespace cadenza {

int64_t Backend::packed_bytes(const RowsView& view, std::span<const RowRun> runs) {
  int64_t elements = 0;
  for (const RowRun& run : runs) elements += run.rows.size() * run.heads.size() * view.dim;
  return elements * dtype_bytes(view.dtype);
}

}  // namespace cadenza
