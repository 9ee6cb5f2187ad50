#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/range_set.h"
#include "planner/strategy.h"

namespace cadenza {

/// A piece of work that one server does at present.
struct WorkItem {
  int document = 0;
  Piece piece;  // trimmed, never without pairs
  Rank server = 0;
  double cost = 0;
};

/// What `cad` knows while it moves work: the items, who does them, the loads, and which rows each
/// server holds.
class CadState {
 public:
  /// (cost or load gap, id), so that ties fall by id.
  using Ordered = std::set<std::pair<double, int>>;

  CadState(const PlanRequest& request, const Batch& batch, const std::vector<Task>& tasks);

  const PlanRequest& request() const { return request_; }
  const Batch& batch() const { return batch_; }
  int servers() const { return request_.cluster.servers; }
  const WorkItem& item(int id) const { return items_[static_cast<size_t>(id)]; }
  /// Items of a server that still have pairs, by cost.
  const Ordered& items_of(Rank server) const { return by_server_[static_cast<size_t>(server)]; }

  double load(Rank server) const {
    return loads_[static_cast<size_t>(server)];
  }  // cost, not divided by speed
  double cap(Rank server) const { return cap_per_speed_ * request_.cluster.speed(server); }
  double room(Rank server) const { return cap(server) - load(server); }  // negative: surplus
  /// Servers by room, all of them; the first has the largest surplus.
  const Ordered& by_room() const { return by_room_; }
  /// Servers by load / speed.
  const Ordered& by_load() const { return by_load_; }

  double cost(const Piece& piece) const { return request_.cost->task_cost(piece); }
  /// Bytes that a rectangle of cost c moves at least, to a server that holds nothing, are this ×
  /// sqrt(c): x query rows at Q + O bytes and y key rows at K + V bytes with x·y pairs cost least
  /// where both parts are equal.
  double bytes_per_root_cost() const { return bytes_per_root_cost_; }

  /// Bytes of rows that `server` does not hold yet and needs for `part`, which is trimmed; a query
  /// row counts Q and O.
  double bytes_to_receive(Rank server, int document, const Piece& part) const;
  /// Bytes that the item's server no longer needs to fetch once `box` is taken from it.
  double bytes_released(int item, const Piece& box) const;
  bool spans_servers(int document) const {
    return batch_.documents[static_cast<size_t>(document)].shards.size() > 1;
  }
  /// Rows that `server` has at home or has received; null where it holds none or (a saving of time)
  /// where it only holds a whole document that has never left it.
  struct Rows {
    RangeSet q, kv;
  };
  const Rows* rows_held(Rank server, int document) const;
  /// Servers that hold rows of a document, where rows_held knows them.
  const std::vector<Rank>& holders(int document) const {
    return holders_[static_cast<size_t>(document)];
  }

  /// Gives the pairs of `box`, a q range × kv range of the item, to another server; the rest stays.
  /// Rows of the box that see none of its keys count as its rows: the rest is cut where the box is.
  void give(int item, const Piece& box, Rank receiver);

  std::vector<Task> tasks() const;

 private:
  /// Both leave the loads to the caller; add_item returns the cost.
  double add_item(int document, const Piece& piece, Rank server);
  void remove_item(int id);
  void add_load(Rank server, double cost);
  Rows& hold(Rank server, int document);
  void hold_shards();
  bool at_home(Rank server, int document) const;

  const PlanRequest& request_;
  const Batch& batch_;
  std::vector<WorkItem> items_;  // given-away and cut items stay, with cost 0
  std::vector<Ordered> by_server_;
  std::vector<double> loads_;
  Ordered by_room_, by_load_;
  double cap_per_speed_ = 0;
  double bytes_per_root_cost_ = 0;
  std::map<std::pair<Rank, int>, Rows> held_;  // by (server, document)
  std::vector<std::vector<Rank>> holders_;     // by document
  // Items by (server, document), only of documents on several servers: those may fetch keys for
  // their own queries.
  std::map<std::pair<Rank, int>, std::set<int>> together_;
};

}  // namespace cadenza
