#pragma once

#include <span>
#include <vector>

#include "attention/attention_context.h"
#include "attention/row_buffer.h"
#include "program/rank_program.h"

namespace cadenza {

/// Keys that the second nano-batch of a ping-pong reads although they belong to the first: a
/// document that lies in both. Forward: their K and V are copied behind the second's own rows
/// before it sends its inputs. Backward: what the second has summed for them is kept aside,
/// unrounded, until the first adds it to its own sums.
class CarriedKeys {
 public:
  /// `program`: the second's, linked to the first (program/rank_program.h).
  CarriedKeys(AttentionContext& context, const RankProgram& program);

  /// From the first's buffer of K or V into the second's.
  void copy(const RowsView& first, const RowsView& second);
  /// Keeps the tail of the second's sums. `kv_heads`, dim: as the sums'.
  void keep(const RowsView& dk, const RowsView& dv);
  /// Adds what was kept to the first's sums, and forgets it. The schedule must have kept it.
  void add(const RowsView& dk, const RowsView& dv);

 private:
  RowBuffer tail_of(const RowsView& sums) const;

  AttentionContext& context_;
  Range to_;                 // rows of the second's home layout, behind its own
  std::vector<Range> from_;  // rows of the first's home layout, in the order of `to_`
  bool kept_ = false;
  RowBuffer dk_, dv_;
};

}  // namespace cadenza
