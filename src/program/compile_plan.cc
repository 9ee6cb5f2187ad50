// From plan to programs, in four steps, each linear but for sorting:
//   1. what every server needs (core/needed_rows), each row once;
//   2. where it keeps it: the server layout (program/row_layout);
//   3. who has it: needed rows cut where their homes keep them (program/home_layout) give, for each
//      (home, server) pair, the same rows in the home's coordinates and in the server's;
//   4. the tasks in coordinates of the server layout;
//   5. where the plan has rounds: which rows come in which round, and from whom
//      (program/input_rounds).
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "base/check.h"
#include "core/arrivals.h"
#include "core/needed_rows.h"
#include "program/append_run.h"
#include "program/home_layout.h"
#include "program/input_rounds.h"
#include "program/rank_program.h"
#include "program/row_layout.h"

namespace cadenza {
namespace {

/// Both ends of what one home sends to one server.
struct Link {
  PeerRows at_home, at_server;
};

class Compiler {
 public:
  Compiler(const Plan& plan, int64_t heads, int64_t kv_heads)
      : plan_(plan),
        heads_(heads),
        kv_heads_(kv_heads),
        needs_(needed_rows(plan, heads, kv_heads)),
        homes_(plan.batch, needs_),
        programs_(static_cast<size_t>(plan.servers)) {}

  std::vector<RankProgram> compile() {
    for (Rank rank = 0; rank < plan_.servers; ++rank) {
      RankProgram& program = programs_[static_cast<size_t>(rank)];
      program.rank = rank;
      program.home_rows = homes_.own_rows(rank);
      program.home_kv_rows = homes_.kv_rows(rank);
      const ServerNeeds& needs = needs_[static_cast<size_t>(rank)];
      q_layouts_.emplace_back(needs.q);
      kv_layouts_.emplace_back(needs.kv);
      program.server_q_rows = q_layouts_.back().rows();
      program.server_kv_rows = kv_layouts_.back().rows();
      link_server(rank);
    }
    place_tasks();
    list_carried_rows();
    if (moves_in_rounds(plan_)) {
      add_input_rounds({plan_, homes_, q_layouts_, kv_layouts_}, heads_, kv_heads_, programs_);
    } else {
      for (RankProgram& program : programs_)
        program.rounds = {{.from_home = program.as_home, .of_homes = program.as_server}};
    }
    return std::move(programs_);
  }

 private:
  // Servers are visited in the order of ranks, so every home lists its servers in that order too.
  void link_server(Rank server) {
    std::map<Rank, Link> links;  // by home
    const ServerNeeds& needs = needs_[static_cast<size_t>(server)];
    for (const NeededRows& need : needs.q) {
      cut_at_shards(need, q_layouts_.back(), links, &PeerRows::q);
    }
    for (const NeededRows& need : needs.kv) {
      cut_at_shards(need, kv_layouts_.back(), links, &PeerRows::kv);
    }
    for (auto& [home, link] : links) {
      link.at_home.peer = server;
      link.at_server.peer = home;
      programs_[static_cast<size_t>(home)].as_home.push_back(std::move(link.at_home));
      programs_[static_cast<size_t>(server)].as_server.push_back(std::move(link.at_server));
    }
  }

  void cut_at_shards(const NeededRows& need, const RowLayout& layout, std::map<Rank, Link>& links,
                     std::vector<RowRun> PeerRows::*rows_of) {
    auto part = homes_.part_from(need.document, need.rows.begin);
    const auto last = homes_.parts(need.document).end();
    for (; part != last && part->rows.begin < need.rows.end; ++part) {
      const Range rows = intersect(need.rows, part->rows);
      const int64_t first = part->first_row + rows.begin - part->rows.begin;
      Link& link = links[part->home];
      append_run(link.at_home.*rows_of, {{first, first + rows.size()}, need.heads});
      append_run(link.at_server.*rows_of, {layout.locate(need.document, rows), need.heads});
    }
  }

  void list_carried_rows() {
    for (int d = 0; d < static_cast<int>(plan_.batch.documents.size()); ++d) {
      for (const HomeLayout::Part& part : homes_.parts(d)) {
        if (!part.carried) continue;
        programs_[static_cast<size_t>(part.home)].carried.push_back(
            {.document = d,
             .rows = part.rows,
             .to = {part.first_row, part.first_row + part.rows.size()}});
      }
    }
  }

  void place_tasks() {
    for (const Task& task : plan_.tasks) {
      const Piece piece = trim(task.piece);
      const size_t server = static_cast<size_t>(task.server);
      // In rows of the layout, key j and query i stand for kv.begin + j and q.begin + i.
      const int64_t offset = piece.kv.begin - piece.q.begin;
      Band band = piece.band;
      if (band.lowest != Band::kUnboundedBelow) band.lowest -= offset;
      if (band.highest != Band::kUnboundedAbove) band.highest -= offset;
      programs_[server].tasks.push_back(
          {.q = q_layouts_[server].locate(task.document, piece.q),
           .kv = kv_layouts_[server].locate(task.document, piece.kv),
           .band = band,
           .heads = task.heads.empty() ? Range{0, heads_} : task.heads});
    }
    for (RankProgram& program : programs_) mark_merges(program.tasks);
  }

  // Marks every task that shares a row of q with another: sorted by first row, a task shares with
  // an earlier one exactly when it begins before the furthest end so far.
  static void mark_merges(std::vector<AttendTask>& tasks) {
    std::vector<AttendTask*> by_row;
    for (AttendTask& task : tasks) by_row.push_back(&task);
    std::stable_sort(by_row.begin(), by_row.end(), [](const AttendTask* a, const AttendTask* b) {
      return a->q.begin < b->q.begin;
    });
    AttendTask* furthest = nullptr;
    for (AttendTask* task : by_row) {
      if (furthest != nullptr && task->q.begin < furthest->q.end)
        task->merge = furthest->merge = true;
      if (furthest == nullptr || task->q.end > furthest->q.end) furthest = task;
    }
  }

  const Plan& plan_;
  const int64_t heads_;
  const int64_t kv_heads_;
  const std::vector<ServerNeeds> needs_;
  const HomeLayout homes_;
  std::vector<RowLayout> q_layouts_, kv_layouts_;  // by server
  std::vector<RankProgram> programs_;
};

}  // namespace

std::vector<RankProgram> compile_plan(const VerifiedPlan& plan, int64_t heads, int64_t kv_heads) {
  CADENZA_CHECK(heads >= 1 && kv_heads >= 1 && heads % kv_heads == 0, heads, " heads, ", kv_heads,
                " kv heads");
  const int64_t named = named_heads(plan.plan());
  if (named != 0 && named != heads) {
    throw PlanError(cat("[program] the plan's tasks name ", named, " query heads, the model has ",
                        heads, "; plan again for this model"));
  }
  return Compiler(plan.plan(), heads, kv_heads).compile();
}

}  // namespace cadenza
