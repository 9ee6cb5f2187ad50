// From plan to one rank's program, in five steps, each linear but for sorting:
//   1. what every server needs (core/needed_rows), each row once;
//   2. where this rank keeps what it needs: the server layout (program/row_layout);
//   3. who has it: needed rows cut where their homes keep them (program/home_layout) give, for this
//      rank as home and as server, the same rows in its own coordinates on both ends of a link;
//   4. the tasks in coordinates of the server layout;
//   5. where the plan has rounds: which rows come in which round, and from whom
//      (program/input_rounds).
// What servers need is the same for all ranks; a rank compiles its own program only.
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

class RankCompiler {
 public:
  RankCompiler(const Plan& plan, const std::vector<ServerNeeds>& needs, const HomeLayout& homes,
               Rank rank)
      : plan_(plan),
        needs_(needs),
        homes_(homes),
        rank_(rank),
        q_layout_(needs[static_cast<size_t>(rank)].q),
        kv_layout_(needs[static_cast<size_t>(rank)].kv) {}

  RankProgram compile(int64_t heads, const std::vector<ServerArrivals>* arrivals) {
    program_.rank = rank_;
    program_.home_rows = homes_.own_rows(rank_);
    program_.home_kv_rows = homes_.kv_rows(rank_);
    program_.server_q_rows = q_layout_.rows();
    program_.server_kv_rows = kv_layout_.rows();
    for (Rank server = 0; server < plan_.servers; ++server) link_home(server);
    link_server();
    place_tasks(heads);
    list_carried_rows();
    if (arrivals != nullptr) {
      add_input_rounds({plan_, homes_, q_layout_, kv_layout_}, *arrivals, program_);
    } else {
      program_.rounds = {{.from_home = program_.as_home, .of_homes = program_.as_server}};
    }
    return std::move(program_);
  }

 private:
  using RowsOf = std::vector<RowRun> PeerRows::*;

  /// Rows of this home that the server reads. Servers are visited in the order of ranks, so they
  /// are listed in that order too.
  void link_home(Rank server) {
    PeerRows rows{.peer = server, .q = {}, .kv = {}};
    const auto add = [&](const std::vector<NeededRows>& needed, RowsOf rows_of) {
      for (const NeededRows& need : needed) {
        homes_.for_parts(
            need.document, need.rows, [&](const HomeLayout::Part& part, Range part_rows) {
              if (part.home == rank_)
                append_run(rows.*rows_of, {HomeLayout::rows_in(part, part_rows), need.heads});
            });
      }
    };
    const ServerNeeds& needs = needs_[static_cast<size_t>(server)];
    add(needs.q, &PeerRows::q);
    add(needs.kv, &PeerRows::kv);
    if (!rows.q.empty() || !rows.kv.empty()) program_.as_home.push_back(std::move(rows));
  }

  /// Rows that this server reads, by home.
  void link_server() {
    std::map<Rank, PeerRows> links;
    const auto add = [&](const std::vector<NeededRows>& needed, const RowLayout& layout,
                         RowsOf rows_of) {
      for (const NeededRows& need : needed) {
        homes_.for_parts(need.document, need.rows, [&](const HomeLayout::Part& part, Range rows) {
          append_run(links[part.home].*rows_of, {layout.locate(need.document, rows), need.heads});
        });
      }
    };
    const ServerNeeds& needs = needs_[static_cast<size_t>(rank_)];
    add(needs.q, q_layout_, &PeerRows::q);
    add(needs.kv, kv_layout_, &PeerRows::kv);
    for (auto& [home, rows] : links) {
      rows.peer = home;
      program_.as_server.push_back(std::move(rows));
    }
  }

  void list_carried_rows() {
    for (int d = 0; d < static_cast<int>(plan_.batch.documents.size()); ++d) {
      for (const HomeLayout::Part& part : homes_.parts(d)) {
        if (!part.carried || part.home != rank_) continue;
        program_.carried.push_back(
            {.document = d, .rows = part.rows, .to = HomeLayout::rows_in(part, part.rows)});
      }
    }
  }

  void place_tasks(int64_t heads) {
    for (const Task& task : plan_.tasks) {
      if (task.server != rank_) continue;
      const Piece piece = trim(task.piece);
      // In rows of the layout, key j and query i stand for kv.begin + j and q.begin + i.
      const int64_t offset = piece.kv.begin - piece.q.begin;
      Band band = piece.band;
      if (band.lowest != Band::kUnboundedBelow) band.lowest -= offset;
      if (band.highest != Band::kUnboundedAbove) band.highest -= offset;
      program_.tasks.push_back({.q = q_layout_.locate(task.document, piece.q),
                                .kv = kv_layout_.locate(task.document, piece.kv),
                                .band = band,
                                .heads = task.heads.empty() ? Range{0, heads} : task.heads});
    }
    mark_merges(program_.tasks);
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
  const std::vector<ServerNeeds>& needs_;
  const HomeLayout& homes_;
  const Rank rank_;
  const RowLayout q_layout_, kv_layout_;
  RankProgram program_;
};

/// The programs of some ranks: what they share is made once.
std::vector<RankProgram> compile(const VerifiedPlan& verified, int64_t heads, int64_t kv_heads,
                                 Range ranks) {
  CADENZA_CHECK(heads >= 1 && kv_heads >= 1 && heads % kv_heads == 0, heads, " heads, ", kv_heads,
                " kv heads");
  const Plan& plan = verified.plan();
  const int64_t named = named_heads(plan);
  if (named != 0 && named != heads) {
    throw PlanError(cat("[program] the plan's tasks name ", named, " query heads, the model has ",
                        heads, "; plan again for this model"));
  }
  const std::vector<ServerNeeds> needs = needed_rows(plan, heads, kv_heads);
  const HomeLayout homes(plan.batch, needs);
  std::vector<ServerArrivals> arrivals;
  if (moves_in_rounds(plan)) arrivals = arrivals_of(plan, heads, kv_heads);
  std::vector<RankProgram> programs;
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    programs.push_back(RankCompiler(plan, needs, homes, static_cast<Rank>(rank))
                           .compile(heads, moves_in_rounds(plan) ? &arrivals : nullptr));
  }
  return programs;
}

}  // namespace

RankProgram compile_plan(const VerifiedPlan& plan, int64_t heads, int64_t kv_heads, Rank rank) {
  CADENZA_CHECK(rank >= 0 && rank < plan.plan().servers, "rank ", rank);
  return std::move(compile(plan, heads, kv_heads, {rank, rank + 1}).front());
}

std::vector<RankProgram> compile_plan(const VerifiedPlan& plan, int64_t heads, int64_t kv_heads) {
  return compile(plan, heads, kv_heads, {0, plan.plan().servers});
}

}  // namespace cadenza
