#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/row_run.h"
#include "kernels/attention.h"

namespace cadenza {

/// The kernels of one kind of device. The runtime calls nothing else, and never looks at a buffer's
/// bytes, so a new device is new files. Calls are ordered: each sees what the ones before it wrote
/// (on the CPU: the calling thread).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  virtual void attention_forward(const ForwardArgs& args) = 0;
  virtual void attention_backward(const BackwardArgs& args) = 0;

  /// Bytes that the runs of this view take when packed: rows × heads × dim elements of the view's
  /// dtype.
  static int64_t packed_bytes(const RowsView& view, std::span<const RowRun> runs);

  /// Writes the runs of `source`, one after another, rows outermost, without gaps, to `packed`.
  virtual void pack_rows(const RowsView& source, std::span<const RowRun> runs,
                         std::byte* packed) = 0;
  /// The reverse: overwrites the runs of `target`.
  virtual void unpack_rows(const std::byte* packed, std::span<const RowRun> runs,
                           const RowsView& target) = 0;
  /// Adds packed fp32 rows into the runs of `target`.
  virtual void add_rows(const std::byte* packed, std::span<const RowRun> runs,
                        const RowsView& target) = 0;
  /// Merges packed partials (O rows, then their LSEs packed alike) into the runs of (o, lse) by
  /// log-sum-exp. A partial with LSE = -inf leaves the target as it is, bit for bit; merging into
  /// LSE = -inf takes the partial bit for bit.
  virtual void merge_rows(const std::byte* packed_o, const std::byte* packed_lse,
                          std::span<const RowRun> runs, const RowsView& o, const RowsView& lse) = 0;
  /// delta[row, head] = sum over dim of d_o ∘ o, accumulated in fp32.
  virtual void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta) = 0;
  virtual void fill(const RowsView& view, float value) = 0;
};

/// The CPU kernels on `threads` threads (>= 1) of the calling thread's OpenMP team. One Backend per
/// rank.
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace cadenza
