#include "program/input_rounds.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "core/arrivals.h"
#include "program/append_run.h"

namespace cadenza {
namespace {

/// The rounds in which some task runs, ascending.
std::vector<int> used_rounds(const Plan& plan) {
  std::vector<int> rounds;
  for (const Task& task : plan.tasks) rounds.push_back(task.round);
  std::sort(rounds.begin(), rounds.end());
  rounds.erase(std::unique(rounds.begin(), rounds.end()), rounds.end());
  return rounds;
}

/// What one rank exchanges in one round, while it is gathered: by peer, so that peers come out in
/// the order of ranks.
struct Gathered {
  std::map<Rank, PeerRows> from_home, passed_on, of_homes, of_relays;
};

std::vector<PeerRows> in_order(std::map<Rank, PeerRows>& by_peer) {
  std::vector<PeerRows> rows;
  for (auto& [peer, of_peer] : by_peer) {
    of_peer.peer = peer;
    rows.push_back(std::move(of_peer));
  }
  return rows;
}

class RoundCompiler {
 public:
  RoundCompiler(const RowPlaces& places, std::vector<RankProgram>& programs)
      : places_(places),
        programs_(programs),
        rounds_(used_rounds(places.plan)),
        gathered_(programs.size(), std::vector<Gathered>(rounds_.size())) {}

  void compile(int64_t heads, int64_t kv_heads) {
    const auto servers = arrivals_of(places_.plan, heads, kv_heads);
    for (size_t server = 0; server < servers.size(); ++server) {
      for (const Arrival& arrival : servers[server].q)
        link(static_cast<Rank>(server), arrival, &PeerRows::q);
      for (const Arrival& arrival : servers[server].kv)
        link(static_cast<Rank>(server), arrival, &PeerRows::kv);
    }
    for (RankProgram& program : programs_) finish(program);
    place_tasks();
  }

 private:
  size_t index_of(int round) const {
    return static_cast<size_t>(std::lower_bound(rounds_.begin(), rounds_.end(), round) -
                               rounds_.begin());
  }

  /// Both ends of one arrival. Rows whose home is their source are sent from its home layout, the
  /// others from its server layout; a relay may hold some of either.
  void link(Rank server, const Arrival& arrival, std::vector<RowRun> PeerRows::*rows_of) {
    auto part = places_.homes.part_from(arrival.document, arrival.rows.begin);
    const auto last = places_.homes.parts(arrival.document).end();
    const size_t round = index_of(arrival.round);
    Gathered& here = gathered_[static_cast<size_t>(server)][round];
    Gathered& there = gathered_[static_cast<size_t>(arrival.from)][round];
    for (; part != last && part->rows.begin < arrival.rows.end; ++part) {
      const Range rows = intersect(arrival.rows, part->rows);
      const RowRun received{layout(server, rows_of).locate(arrival.document, rows), arrival.heads};
      if (part->home == arrival.from) {
        const int64_t first = part->first_row + rows.begin - part->rows.begin;
        append_run(there.from_home[server].*rows_of, {{first, first + rows.size()}, arrival.heads});
        append_run(here.of_homes[arrival.from].*rows_of, received);
      } else {
        append_run(there.passed_on[server].*rows_of,
                   {layout(arrival.from, rows_of).locate(arrival.document, rows), arrival.heads});
        append_run(here.of_relays[arrival.from].*rows_of, received);
      }
    }
  }

  const RowLayout& layout(Rank server, std::vector<RowRun> PeerRows::*rows_of) const {
    return (rows_of == &PeerRows::q ? places_.q_layouts
                                    : places_.kv_layouts)[static_cast<size_t>(server)];
  }

  /// A rank's own rows are there from the first round on.
  static const PeerRows* own(const std::vector<PeerRows>& peers, Rank rank) {
    const auto found = std::find_if(peers.begin(), peers.end(),
                                    [&](const PeerRows& peer) { return peer.peer == rank; });
    return found == peers.end() ? nullptr : &*found;
  }

  void finish(RankProgram& program) {
    std::vector<Gathered>& rounds = gathered_[static_cast<size_t>(program.rank)];
    if (const PeerRows* rows = own(program.as_home, program.rank))
      rounds.front().from_home[program.rank] = *rows;
    if (const PeerRows* rows = own(program.as_server, program.rank))
      rounds.front().of_homes[program.rank] = *rows;
    for (Gathered& round : rounds) {
      program.rounds.push_back({.from_home = in_order(round.from_home),
                                .passed_on = in_order(round.passed_on),
                                .of_homes = in_order(round.of_homes),
                                .of_relays = in_order(round.of_relays)});
    }
  }

  /// The compiler has listed each server's tasks in task-id order.
  void place_tasks() {
    std::vector<size_t> next(programs_.size(), 0);
    for (const Task& task : places_.plan.tasks) {
      const auto server = static_cast<size_t>(task.server);
      programs_[server].tasks[next[server]++].round = static_cast<int>(index_of(task.round));
    }
  }

  const RowPlaces& places_;
  std::vector<RankProgram>& programs_;
  std::vector<int> rounds_;
  std::vector<std::vector<Gathered>> gathered_;  // by rank and round
};

}  // namespace

void add_input_rounds(const RowPlaces& places, int64_t heads, int64_t kv_heads,
                      std::vector<RankProgram>& programs) {
  RoundCompiler(places, programs).compile(heads, kv_heads);
}

}  // namespace cadenza
