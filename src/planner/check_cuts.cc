#include "planner/check_cuts.h"

#include <algorithm>
#include <vector>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

/// Where tasks of one document may be cut besides multiples of the tile.
class DocumentEdges {
 public:
  explicit DocumentEdges(const Document& document)
      : pieces_(mask_pieces(document.mask, document.length)) {
    q_ = {0, document.length, document.queries.begin, document.queries.end};
    for (const Shard& shard : document.shards) q_.push_back(shard.rows.end);
    kv_ = q_;
    for (const Piece& piece : pieces_) {
      q_.insert(q_.end(), {piece.q.begin, piece.q.end});
      kv_.insert(kv_.end(), {piece.kv.begin, piece.kv.end});
    }
    std::sort(q_.begin(), q_.end());
    std::sort(kv_.begin(), kv_.end());
  }

  bool at_q(int64_t row) const { return std::binary_search(q_.begin(), q_.end(), row); }
  bool at_kv(int64_t row) const { return std::binary_search(kv_.begin(), kv_.end(), row); }

  bool mask_allows_any(Range q, Range kv) const {
    return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
      return count_pairs(intersect(piece, {q, kv, Band::full()})) > 0;
    });
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<int64_t> q_, kv_;
};

[[noreturn]] void refuse(size_t id, const Task& task, const char* what, int64_t edge,
                         int64_t tile) {
  throw PlanError(cat("[verify] task ", id, " of document ", task.document, ", q ", task.piece.q,
                      " kv ", task.piece.kv, ": expected its ", what, " cut on a multiple of ",
                      tile, ", a home's boundary or a document's end, got ", edge,
                      "; plan with cuts on the tile"));
}

void check_task(size_t id, const Task& task, const DocumentEdges& edges, int64_t tile) {
  const Range q = task.piece.q;
  const Range kv = task.piece.kv;
  for (const auto& [edge, across] : {std::pair{q.begin, q.begin - 1}, std::pair{q.end, q.end}}) {
    if (edge % tile != 0 && !edges.at_q(edge) && edges.mask_allows_any({across, across + 1}, kv)) {
      refuse(id, task, "queries", edge, tile);
    }
  }
  for (const auto& [edge, across] :
       {std::pair{kv.begin, kv.begin - 1}, std::pair{kv.end, kv.end}}) {
    if (edge % tile != 0 && !edges.at_kv(edge) && edges.mask_allows_any(q, {across, across + 1})) {
      refuse(id, task, "keys", edge, tile);
    }
  }
}

}  // namespace

void check_cuts(const Plan& plan, int64_t tile) {
  std::vector<DocumentEdges> edges;
  for (const Document& document : plan.batch.documents) edges.emplace_back(document);
  for (size_t id = 0; id < plan.tasks.size(); ++id) {
    const Task& task = plan.tasks[id];
    check_task(id, task, edges[static_cast<size_t>(task.document)], tile);
  }
}

}  // namespace cadenza
