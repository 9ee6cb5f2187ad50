#include "attention/carried_keys.h"

#include "base/check.h"

namespace cadenza {
namespace {

std::vector<RowRun> runs_of(const std::vector<Range>& rows, int64_t heads) {
  std::vector<RowRun> runs;
  for (const Range& range : rows) runs.push_back({range, {0, heads}});
  return runs;
}

std::byte* bytes_of(const RowsView& view) { return static_cast<std::byte*>(view.data); }

}  // namespace

CarriedKeys::CarriedKeys(AttentionContext& context, const RankProgram& program)
    : context_(context), to_{program.home_rows, program.home_kv_rows} {
  for (const CarriedRows& rows : program.carried) {
    CADENZA_CHECK(!rows.from.empty(), "keys carried from nowhere");
    from_.push_back(rows.from);
  }
}

void CarriedKeys::copy(const RowsView& first, const RowsView& second) {
  if (to_.empty()) return;
  const LaneClock::Scope packing(context_.clock, Lane::kPack);
  const RowRun to{to_, {0, second.heads}};
  context_.backend.copy_rows(first, runs_of(from_, first.heads), second, {&to, 1});
}

void CarriedKeys::keep(const RowsView& dk, const RowsView& dv) {
  const LaneClock::Scope packing(context_.clock, Lane::kUnpack);
  dk_ = tail_of(dk);
  dv_ = tail_of(dv);
  kept_ = true;
}

void CarriedKeys::add(const RowsView& dk, const RowsView& dv) {
  CADENZA_CHECK(kept_, "the schedule sums the first nano-batch before the second");
  const LaneClock::Scope packing(context_.clock, Lane::kUnpack);
  const auto add = [&](RowBuffer& kept, const RowsView& sums) {
    context_.backend.add_rows(bytes_of(kept.view()), kept.view().dtype, runs_of(from_, sums.heads),
                              sums);
    kept = RowBuffer();
  };
  add(dk_, dk);
  add(dv_, dv);
  kept_ = false;
}

RowBuffer CarriedKeys::tail_of(const RowsView& sums) const {
  const RowRun run{to_, {0, sums.heads}};
  RowBuffer kept(to_.size(), sums.heads, sums.dim, sums.dtype);
  context_.backend.pack_rows(sums, {&run, 1}, bytes_of(kept.view()));
  return kept;
}

}  // namespace cadenza
