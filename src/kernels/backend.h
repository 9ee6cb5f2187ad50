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
  /// Adds packed rows of `packed_dtype` into the runs of `target`, fp32.
  virtual void add_rows(const std::byte* packed, Dtype packed_dtype, std::span<const RowRun> runs,
                        const RowsView& target) = 0;
  /// Merges packed partials (O rows of `packed_dtype`; their fp32 LSEs, packed alike, at any
  /// address) into the runs of (o, lse), both fp32, by log-sum-exp. A partial with LSE = -inf
  /// leaves the target as it is, bit for bit; merging into LSE = -inf takes the partial as it is.
  virtual void merge_rows(const std::byte* packed_o, Dtype packed_dtype,
                          const std::byte* packed_lse, std::span<const RowRun> runs,
                          const RowsView& o, const RowsView& lse) = 0;
  /// The same three from buffer to buffer, without packing, where rows stay on their rank: the runs
  /// on both sides name the same rows and heads in the same order. Views of one dtype; sums are
  /// fp32, and what is added or merged of any dtype. They share no memory.
  virtual void copy_rows(const RowsView& from, std::span<const RowRun> from_runs,
                         const RowsView& to, std::span<const RowRun> to_runs) = 0;
  virtual void add_rows(const RowsView& from, std::span<const RowRun> from_runs,
                        std::span<const RowRun> to_runs, const RowsView& to) = 0;
  virtual void merge_rows(const RowsView& from_o, const RowsView& from_lse,
                          std::span<const RowRun> from_runs, std::span<const RowRun> to_runs,
                          const RowsView& o, const RowsView& lse) = 0;
  /// delta[row, head] = sum over dim of d_o ∘ o: either of any dtype, delta fp32, accumulated in
  /// fp32.
  virtual void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta) = 0;
  /// Lets a sink logit per head take part in the softmax of every row, beside the keys that are
  /// merged into (o, lse) already. A sink has no value row: lse' = log(e^lse + e^sink[head]),
  /// o' = o · e^(lse - lse'). sinks: [1, heads, 1]; o: [rows, heads, dim]; lse: [rows, heads, 1];
  /// all fp32. LSE = -inf (a row that saw no key) becomes o' = 0, lse' = sink; a sink of -inf
  /// changes no bit. Once for each row, after its last merge, by the row's home: a sink added to
  /// several partials of a row would count several times.
  virtual void apply_sinks(const RowsView& sinks, const RowsView& o, const RowsView& lse) = 0;
  /// Adds the sinks' gradient: d_sinks[head] -= sum over rows of e^(sink[head] - lse') · delta,
  /// with lse' of apply_sinks and delta = row_dot(d_o, o') of the rows. Sums in a fixed order. A
  /// sink of -inf gets nothing. attention_backward needs lse' as the row's LSE and this delta, and
  /// nothing else of the sinks. sinks, d_sinks: [1, heads, 1]; lse, delta: [rows, heads, 1]; fp32.
  virtual void add_sink_gradients(const RowsView& sinks, const RowsView& lse, const RowsView& delta,
                                  const RowsView& d_sinks) = 0;
  /// Every element of `view`, of any dtype, becomes `value` rounded to that dtype.
  virtual void fill(const RowsView& view, float value) = 0;
  /// Copies `from` to `to`, views of one shape and any dtypes, that share no memory. fp32 to bf16
  /// rounds to the nearest, ties to even, and keeps NaN.
  virtual void convert_rows(const RowsView& from, const RowsView& to) = 0;
};

/// The CPU kernels on `threads` threads (>= 1) of the calling thread's OpenMP team. One Backend per
/// rank.
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace cadenza
