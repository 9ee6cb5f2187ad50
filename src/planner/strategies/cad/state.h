#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/strategies/cad/rooms.h"
#include "planner/strategy.h"

namespace cadenza {

/// A piece of work that one server does at present.
struct WorkItem {
  int document = 0;
  Piece piece;  // trimmed, never without pairs
  Rank server = 0;
  double cost = 0;
  int cell = 0;       // of (document, server)
  int in_cell = 0;    // index in the cell's items
  int in_server = 0;  // index in the server's items
};

/// What the tasks of one document on one server move. Rows that live there or are fetched already
/// count once.
struct CellUse {
  double bytes = 0;  // Q + K + V + O, bytes between nodes times far_link_weight
  double recv = 0;   // Q + K + V bytes, not weighted
  double kv = 0;     // K + V bytes among them
};

/// Hard limits of each server, in bytes of one layer's forward.
struct ReceiveLimits {
  double recv = std::numeric_limits<double>::infinity();  // Q + K + V
  double kv = std::numeric_limits<double>::infinity();    // K + V among them

  bool any() const { return std::isfinite(recv) || std::isfinite(kv); }
  bool allow(const CellUse& use) const { return use.recv <= recv && use.kv <= kv; }
};

/// All that one server computes of one document.
struct WorkCell {
  int document = 0;
  Rank server = 0;
  bool all_home = false;    // the whole document lives here: nothing is ever fetched
  std::vector<Range> home;  // rows that live here, in order
  std::vector<Range> near;  // rows that live on other servers of this node, in order
  std::vector<int> items;
  CellUse use;
};

/// What `cad` knows while it moves work: who does which items, loads, and the exact bytes that the
/// plan moves. Flat arrays and an undo log, so that a search can try thousands of changes a
/// millisecond. The bytes of a plan are a sum over cells (document, server) of a function of the
/// cell's items, so a change costs the evaluation of two cells.
class CadState {
 public:
  /// Starts from the home tasks. Those may be above the limits; moves may not bring a server there.
  CadState(const PlanRequest& request, const Batch& batch, ReceiveLimits limits = {});

  const PlanRequest& request() const { return request_; }
  const Batch& batch() const { return batch_; }
  int servers() const { return request_.cluster.servers; }
  int documents() const { return static_cast<int>(batch_.documents.size()); }
  const WorkItem& item(int id) const { return items_[static_cast<size_t>(id)]; }
  const WorkCell& cell(int id) const { return cells_[static_cast<size_t>(id)]; }
  const std::vector<int>& items_of(Rank server) const {
    return by_server_[static_cast<size_t>(server)];
  }
  /// Cells of a document, some of them without items.
  const std::vector<int>& cells_of(int document) const {
    return by_document_[static_cast<size_t>(document)];
  }

  /// -1 where there is none.
  int find_cell(int document, Rank server) const;

  double load(Rank server) const { return loads_[static_cast<size_t>(server)]; }
  /// Infinite if a server of speed 0 has work.
  double time(Rank server) const {
    return load(server) > 0 ? load(server) / request_.cluster.speed(server) : 0;
  }
  double cap(Rank server) const { return cap_per_speed_ * request_.cluster.speed(server); }
  double cap_per_speed() const { return cap_per_speed_; }                // in time
  double room(Rank server) const { return cap(server) - load(server); }  // negative: surplus
  const RoomOrder& rooms() const { return rooms_; }
  /// Caps from what all work costs now. By a profile a cut changes what its parts cost together.
  void refresh_caps();
  /// Caps at this time of every server.
  void raise_caps(double time);
  /// Bytes of the whole plan, weighted.
  double bytes() const { return bytes_; }
  /// What a server moves for all its work.
  const CellUse& use(Rank server) const { return use_[static_cast<size_t>(server)]; }
  const ReceiveLimits& limits() const { return limits_; }
  void set_limits(const ReceiveLimits& limits);
  bool allows(Rank server, const CellUse& more) const {
    return limits_.allow({0, use(server).recv + more.recv, use(server).kv + more.kv});
  }
  /// Servers above a limit.
  int over_limits() const { return over_limits_; }

  bool counts_pairs() const { return counts_pairs_; }
  double cost(const Piece& piece) const {
    return counts_pairs_ ? static_cast<double>(count_pairs(piece))
                         : request_.cost->task_cost(piece);
  }
  /// Bytes that a rectangle of cost c moves at least, to a server that holds nothing, are this ×
  /// sqrt(c): x query rows at Q + O bytes and y key rows at K + V bytes with x·y pairs cost least
  /// where both parts are equal.
  double bytes_per_root_cost() const { return bytes_per_root_cost_; }
  double cost_per_pair() const { return cost_per_pair_; }

  /// What `server` would move more if it did `part` (trimmed) too.
  CellUse added(Rank server, int document, const Piece& part) const;
  /// What the item's server would move less if `box` were taken from the item.
  CellUse released(int item, const Piece& box) const;

  /// No less than released(item, box).bytes, in no time.
  double most_released(int item, const Piece& box) const;

  /// Gives the pairs of `box`, a q range × kv range of the item, to another server; the rest stays.
  /// Rows of the box that see none of its keys count as its rows: the rest is cut where the box is.
  void give(int item, const Piece& box, Rank receiver);
  /// All work of a document returns to where its queries live.
  void return_document(int document);
  /// What a server does of a document whose queries live elsewhere returns to where they live.
  void return_foreign(int cell);

  /// The plan of these tasks, which are some state's.
  void assign(const std::vector<Task>& tasks);

  /// Changes after a mark can be taken back, the latest first. `forget` ends that: it empties the
  /// log.
  size_t mark() const { return log_.size(); }
  void undo(size_t mark);
  void forget() { log_.clear(); }

  std::vector<Task> tasks() const;

 private:
  struct Change {
    bool added = false;
    int id = 0;
    WorkItem item;
  };

  void set_caps(double time);
  int cell_of(int document, Rank server);
  void add_shard_rows(WorkCell& cell) const;
  CellUse use_of(const WorkCell& cell, int skip, std::span<const Piece> more) const;

  /// Joined with neighbours in its cell where the union is again one item.
  void add(int document, Piece piece, Rank server);
  void add_home(int document, const Piece& piece);
  int take(int id);  // removes, logged; returns the cell
  void put(int document, const Piece& piece, Rank server, int cell);
  void link(int id);
  void unlink(int id);
  void touch(int cell);
  /// Brings bytes and rooms up to date with the cells touched.
  void settle();

  const PlanRequest& request_;
  const Batch& batch_;
  const bool counts_pairs_;
  double q_bytes_ = 0, o_bytes_ = 0, kv_bytes_ = 0;  // of one row
  std::vector<Task> home_;                           // by document
  std::vector<size_t> first_home_;                   // of a document, in home_
  std::vector<WorkItem> items_;
  std::vector<int> free_;  // ids not in use
  std::vector<WorkCell> cells_;
  std::vector<std::vector<int>> by_server_, by_document_;
  std::vector<double> loads_;
  std::vector<double> settled_rooms_;  // as rooms_ has them
  std::vector<CellUse> use_;           // by server
  RoomOrder rooms_;
  double bytes_ = 0;
  double cap_per_speed_ = 0;
  double bytes_per_root_cost_ = 0;
  double cost_per_pair_ = 0;
  ReceiveLimits limits_;
  int over_limits_ = 0;
  std::vector<Change> log_;
  bool logs_ = false;  // not while it is constructed
  std::vector<int> touched_;
};

/// What is left of `whole` without `box`: rows before it, of its rows the keys before and after,
/// and rows after it; trimmed, those without pairs left out.
struct Remainders {
  std::array<Piece, 4> pieces;
  size_t count = 0;
  Remainders(const Piece& whole, const Piece& box);
  std::span<const Piece> span() const { return {pieces.data(), count}; }
};

}  // namespace cadenza
