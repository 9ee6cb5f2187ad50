#include "core/verify_plan.h"

#include <algorithm>

#include "base/check.h"
#include "core/arrivals.h"
#include "core/coverage.h"
#include "core/overlap.h"

namespace cadenza {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw PlanError("[verify] " + what); }

// The tasks of one document, by id.
using TaskIds = std::vector<size_t>;

std::vector<Piece> pieces_of(const Plan& plan, const TaskIds& ids) {
  std::vector<Piece> pieces;
  pieces.reserve(ids.size());
  for (const size_t id : ids) pieces.push_back(plan.tasks[id].piece);
  return pieces;
}

// Step 1: numbers that mean something by themselves.

void check_rows(const Task& task, size_t id, const Document& document) {
  const Range all{0, document.length};
  const Range q = task.piece.q;
  const Range kv = task.piece.kv;
  if (q.empty() || !document.queries.contains(q)) {
    refuse(cat("document ", task.document, ": expected task ", id, " to compute queries inside ",
               document.queries, ", got ", q, "; cut the task there"));
  }
  if (kv.empty() || !all.contains(kv)) {
    refuse(cat("document ", task.document, ": expected task ", id, " to read keys inside ", all,
               ", got ", kv, "; cut the task there"));
  }
  if (count_pairs(task.piece) == 0) {
    refuse(cat("document ", task.document, ": task ", id, " holds no pair: q ", q, ", kv ", kv,
               ", band ", task.piece.band, "; leave it out"));
  }
}

void check_places(const Task& task, size_t id, int servers) {
  if (task.server < 0 || task.server >= servers) {
    refuse(cat("document ", task.document, ": expected task ", id, " on a server from 0 to ",
               servers - 1, ", got ", task.server, "; correct the server"));
  }
  if (task.heads.begin < 0 || task.heads.begin > task.heads.end) {
    refuse(cat("document ", task.document, ": expected a head range of task ", id, ", got ",
               task.heads, "; correct the heads"));
  }
  if (task.round < 0) {
    refuse(cat("document ", task.document, ": expected task ", id, " in a round >= 0, got ",
               task.round, "; correct the round"));
  }
  if (task.via == Task::kHome) return;
  if (task.via < 0 || task.via >= servers || task.via == task.server || task.round == 0) {
    refuse(cat("document ", task.document, ": expected rows of task ", id, " (server ", task.server,
               ", round ", task.round,
               ") to come from their home, or via another server that held them in an earlier",
               " round, got via ", task.via, "; correct via or round"));
  }
}

void check_numbers(const Plan& plan) {
  if (plan.servers < 1 || plan.batch.homes > plan.servers) {
    refuse(cat("expected at least as many servers as homes, got ", plan.servers, " servers and ",
               plan.batch.homes, " homes; ranks that hold tokens come first among the servers"));
  }
  check_batch(plan.batch);
  const auto documents = static_cast<int64_t>(plan.batch.documents.size());
  for (size_t id = 0; id < plan.tasks.size(); ++id) {
    const Task& task = plan.tasks[id];
    if (task.document < 0 || task.document >= documents) {
      refuse(cat("expected task ", id, " of a document from 0 to ", documents - 1, ", got ",
                 task.document, "; correct the document"));
    }
    check_rows(task, id, plan.batch.documents[static_cast<size_t>(task.document)]);
    check_places(task, id, plan.servers);
  }
}

// Steps 2 to 4 for one document. Head ranges cut the heads into intervals that every task computes
// wholly or not at all; each interval must be covered by itself.
class DocumentProof {
 public:
  DocumentProof(const Plan& plan, size_t index, const TaskIds& ids, int64_t heads)
      : plan_(plan), index_(index), ids_(ids), heads_(heads), mask_(covered_mask()) {}

  void run() const {
    for (const size_t id : ids_) check_inside_mask(id);
    for (const Range interval : head_intervals()) {
      const TaskIds ids = computing(interval);
      check_disjoint(ids, interval);
      check_complete(ids, interval);
    }
  }

 private:
  PieceIndex covered_mask() const {
    const Document& document = plan_.batch.documents[index_];
    std::vector<Piece> pieces = mask_pieces(document.mask, document.length);
    // Intersecting with the same range keeps the order of q.begin.
    for (Piece& piece : pieces) piece.q = intersect(piece.q, document.queries);
    std::erase_if(pieces, [](const Piece& piece) { return count_pairs(piece) == 0; });
    return PieceIndex(std::move(pieces));
  }

  void check_inside_mask(size_t id) const {
    const Piece& piece = plan_.tasks[id].piece;
    if (mask_.pairs_inside(piece) == count_pairs(piece)) return;
    std::vector<Piece> allowed = mask_.pieces();
    for (Piece& part : allowed) part = intersect(part, piece);
    const auto q = first_difference({piece}, allowed);
    CADENZA_CHECK(q.has_value(), "task ", id);
    const auto keys = first_missing(keys_at({piece}, *q), keys_at(allowed, *q));
    CADENZA_CHECK(keys.has_value(), "task ", id, ", query ", *q);
    refuse(cat(document(), "task ", id, " computes query ", *q, ", key ", keys->begin,
               ", which the mask forbids; cut the task's ranges or band"));
  }

  void check_disjoint(const TaskIds& ids, Range heads) const {
    const auto overlap = find_overlap(pieces_of(plan_, ids));
    if (!overlap) return;
    refuse(cat(document(), "tasks ", ids[overlap->first], " and ", ids[overlap->second],
               " both compute query ", overlap->q, ", key ", overlap->k, head_text(heads),
               "; give each pair to one task"));
  }

  void check_complete(const TaskIds& ids, Range heads) const {
    int64_t missing = 0;
    for (const Piece& piece : mask_.pieces()) missing += count_pairs(piece);
    for (const size_t id : ids) missing -= count_pairs(plan_.tasks[id].piece);
    if (missing == 0) return;
    const std::vector<Piece> pieces = pieces_of(plan_, ids);
    const auto q = first_difference(mask_.pieces(), pieces);
    CADENZA_CHECK(q.has_value(), "document ", index_, ", missing pairs ", missing);
    const auto keys = first_missing(keys_at(mask_.pieces(), *q), keys_at(pieces, *q));
    CADENZA_CHECK(keys.has_value(), "document ", index_, ", query ", *q);
    refuse(cat(document(), "query ", *q, ", keys ", *keys, head_text(heads), " are in no task (",
               missing, " pairs are missing there in all); add a task"));
  }

  // Between neighbouring ends of head ranges. One interval, all heads, where no task of the
  // document names heads.
  std::vector<Range> head_intervals() const {
    std::vector<int64_t> cuts = {0, std::max<int64_t>(heads_, 1)};
    for (const size_t id : ids_) {
      const Range heads = plan_.tasks[id].heads;
      if (!heads.empty()) cuts.insert(cuts.end(), {heads.begin, heads.end});
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Range> intervals;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) intervals.push_back({cuts[i], cuts[i + 1]});
    return intervals;
  }

  TaskIds computing(Range interval) const {
    TaskIds ids;
    for (const size_t id : ids_) {
      const Range heads = plan_.tasks[id].heads;
      if (heads.empty() || heads.contains(interval)) ids.push_back(id);
    }
    return ids;
  }

  std::string document() const { return cat("document ", index_, ": "); }

  std::string head_text(Range interval) const {
    const bool all = interval == Range{0, std::max<int64_t>(heads_, 1)};
    return all ? std::string() : cat(", query heads ", interval);
  }

  const Plan& plan_;
  size_t index_;
  const TaskIds& ids_;
  int64_t heads_;  // named_heads of the plan
  PieceIndex mask_;
};

void prove(const Plan& plan) {
  check_numbers(plan);
  std::vector<TaskIds> tasks_of(plan.batch.documents.size());
  for (size_t id = 0; id < plan.tasks.size(); ++id) {
    tasks_of[static_cast<size_t>(plan.tasks[id].document)].push_back(id);
  }
  const int64_t heads = named_heads(plan);
  for (size_t i = 0; i < tasks_of.size(); ++i) DocumentProof(plan, i, tasks_of[i], heads).run();
  if (moves_in_rounds(plan)) {
    const int64_t named = std::max<int64_t>(heads, 1);
    arrivals_of(plan, named, named);  // refuses a relay that does not hold what it passes on
  }
}

}  // namespace

VerifiedPlan::VerifiedPlan(Plan plan) : plan_(std::move(plan)), hash_(plan_hash(plan_)) {}

VerifiedPlan verify_plan(Plan plan) {
  try {
    prove(plan);
  } catch (const DataError& error) {
    // A batch or mask that makes no sense is, inside a plan, the plan's fault.
    throw PlanError(cat("[verify] ", error.what()));
  }
  return VerifiedPlan(std::move(plan));
}

}  // namespace cadenza
