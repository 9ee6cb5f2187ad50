#include "program/input_rounds.h"

#include <algorithm>
#include <map>

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
  RoundCompiler(const RowPlaces& places, RankProgram& program)
      : places_(places),
        program_(program),
        rounds_(used_rounds(places.plan)),
        gathered_(rounds_.size()) {}

  void compile(const std::vector<ServerArrivals>& servers) {
    for (size_t server = 0; server < servers.size(); ++server) {
      const auto to = static_cast<Rank>(server);
      for (const Arrival& arrival : servers[server].q) link(to, arrival, &PeerRows::q);
      for (const Arrival& arrival : servers[server].kv) link(to, arrival, &PeerRows::kv);
    }
    finish();
    place_tasks();
  }

 private:
  using RowsOf = std::vector<RowRun> PeerRows::*;

  size_t index_of(int round) const {
    return static_cast<size_t>(std::lower_bound(rounds_.begin(), rounds_.end(), round) -
                               rounds_.begin());
  }

  /// This rank's end of one arrival, as its server or its source. Rows whose home is their source
  /// are sent from its home layout, the others from its server layout; a relay may hold some of
  /// either.
  void link(Rank server, const Arrival& arrival, RowsOf rows_of) {
    if (server != program_.rank && arrival.from != program_.rank) return;
    Gathered& round = gathered_[index_of(arrival.round)];
    const auto locate = [&](Range rows) {
      return (rows_of == &PeerRows::q ? places_.q_layout : places_.kv_layout)
          .locate(arrival.document, rows);
    };
    places_.homes.for_parts(
        arrival.document, arrival.rows, [&](const HomeLayout::Part& part, Range rows) {
          const bool from_home = part.home == arrival.from;
          if (server == program_.rank) {
            auto& peers = from_home ? round.of_homes : round.of_relays;
            append_run(peers[arrival.from].*rows_of, {locate(rows), arrival.heads});
          }
          if (arrival.from == program_.rank) {
            auto& peers = from_home ? round.from_home : round.passed_on;
            append_run(peers[server].*rows_of,
                       {from_home ? HomeLayout::rows_in(part, rows) : locate(rows), arrival.heads});
          }
        });
  }

  /// A rank's own rows are there from the first round on.
  static const PeerRows* own(const std::vector<PeerRows>& peers, Rank rank) {
    const auto found = std::find_if(peers.begin(), peers.end(),
                                    [&](const PeerRows& peer) { return peer.peer == rank; });
    return found == peers.end() ? nullptr : &*found;
  }

  void finish() {
    const Rank rank = program_.rank;
    if (const PeerRows* rows = own(program_.as_home, rank))
      gathered_.front().from_home[rank] = *rows;
    if (const PeerRows* rows = own(program_.as_server, rank))
      gathered_.front().of_homes[rank] = *rows;
    for (Gathered& round : gathered_) {
      program_.rounds.push_back({.from_home = in_order(round.from_home),
                                 .passed_on = in_order(round.passed_on),
                                 .of_homes = in_order(round.of_homes),
                                 .of_relays = in_order(round.of_relays)});
    }
  }

  /// The compiler has listed this server's tasks in task-id order.
  void place_tasks() {
    size_t next = 0;
    for (const Task& task : places_.plan.tasks) {
      if (task.server == program_.rank)
        program_.tasks[next++].round = static_cast<int>(index_of(task.round));
    }
  }

  const RowPlaces& places_;
  RankProgram& program_;
  std::vector<int> rounds_;
  std::vector<Gathered> gathered_;  // by round
};

}  // namespace

void add_input_rounds(const RowPlaces& places, const std::vector<ServerArrivals>& arrivals,
                      RankProgram& program) {
  RoundCompiler(places, program).compile(arrivals);
}

}  // namespace cadenza
