#include "base/cat.h"
#include "base/error.h"
#include "program/rank_program.h"

namespace cadenza {
namespace {

/// The one document that both nano-batches hold rows of is the first one's last and the second
/// one's first (planner/nano_batches.h).
Range rows_in_first(const Batch& first, Rank rank, Range rows) {
  const int last = static_cast<int>(first.documents.size()) - 1;
  for (const LocalShard& shard : local_shards(first, rank)) {
    if (shard.document != last || !shard.rows.contains(rows)) continue;
    const int64_t begin = shard.first_row + rows.begin - shard.rows.begin;
    return {begin, begin + rows.size()};
  }
  return {};
}

}  // namespace

void link_carried_rows(const Batch& first, Rank rank, RankProgram& second) {
  for (CarriedRows& carried : second.carried) {
    if (carried.document == 0) carried.from = rows_in_first(first, rank, carried.rows);
    if (!carried.from.empty()) continue;
    throw PlanError(cat("[program] document ", carried.document, " of the second nano-batch: rank ",
                        rank, " needs keys ", carried.rows,
                        ", expected them in the last document of the first nano-batch, which does "
                        "not hold them there; split the batch again"));
  }
}

}  // namespace cadenza
