#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "base/rng.h"
#include "base/rows_view.h"

namespace cadenza::bench {

/// Packed rows [rows, heads, dim] with their memory, on the host, cleared.
class RowsMemory {
 public:
  RowsMemory() = default;
  RowsMemory(int64_t rows, int64_t heads, int64_t dim, Dtype dtype);

  const RowsView& view() const { return view_; }
  /// Uniform with mean 0 and variance 1, so that scores of head_dim products scaled by
  /// 1/sqrt(head_dim) have variance 1 too.
  void fill_random(Rng& rng);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  RowsView view_;
};

}  // namespace cadenza::bench
