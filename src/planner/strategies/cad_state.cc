#include "planner/strategies/cad_state.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace cadenza {
namespace {

/// What is left of `whole` without `box`: rows before and after it, and of its rows the keys before
/// and after.
std::array<Piece, 4> remainders(const Piece& whole, const Piece& box) {
  const Band band = whole.band;
  return {trim({{whole.q.begin, box.q.begin}, whole.kv, band}),
          trim({box.q, {whole.kv.begin, box.kv.begin}, band}),
          trim({box.q, {box.kv.end, whole.kv.end}, band}),
          trim({{box.q.end, whole.q.end}, whole.kv, band})};
}

/// Above this many items of one document on one server, bytes_released does not look for shared
/// keys and reports none: a mask of thousands of chunks would make it quadratic, and its chunks
/// share no keys.
constexpr size_t kMaxItemsTogether = 64;

}  // namespace

CadState::CadState(const PlanRequest& request, const Batch& batch, const std::vector<Task>& tasks)
    : request_(request),
      batch_(batch),
      by_server_(static_cast<size_t>(request.cluster.servers)),
      loads_(static_cast<size_t>(request.cluster.servers), 0.0),
      holders_(batch.documents.size()) {
  double total = 0;
  int64_t pairs = 0;
  hold_shards();
  for (const Task& task : tasks) {
    const double c = add_item(task.document, task.piece, task.server);
    if (spans_servers(task.document)) hold(task.server, task.document).kv.add(task.piece.kv);
    loads_[static_cast<size_t>(task.server)] += c;
    total += c;
    pairs += count_pairs(task.piece);
  }
  double speeds = 0;
  for (int s = 0; s < servers(); ++s) speeds += request.cluster.speed(s);
  cap_per_speed_ = total / speeds * (1 + request.tolerance);
  for (int s = 0; s < servers(); ++s) {
    by_room_.insert({room(s), s});
    by_load_.insert({load(s) / request.cluster.speed(s), s});
  }
  const ModelShape& shape = request.shape;
  const double row_bytes = static_cast<double>(shape.q_row_bytes() + shape.o_row_bytes()) *
                           static_cast<double>(shape.kv_row_bytes());
  if (total > 0)
    bytes_per_root_cost_ = 2 * std::sqrt(row_bytes * static_cast<double>(pairs) / total);
}

void CadState::hold_shards() {
  for (size_t d = 0; d < batch_.documents.size(); ++d) {
    const int document = static_cast<int>(d);
    if (!spans_servers(document)) continue;
    for (const Shard& shard : batch_.documents[d].shards) {
      Rows& rows = hold(shard.home, document);
      rows.q.add(shard.rows);
      rows.kv.add(shard.rows);
    }
  }
}

CadState::Rows& CadState::hold(Rank server, int document) {
  const auto [place, is_new] = held_.try_emplace({server, document});
  if (is_new) holders_[static_cast<size_t>(document)].push_back(server);
  return place->second;
}

const CadState::Rows* CadState::rows_held(Rank server, int document) const {
  const auto place = held_.find({server, document});
  return place == held_.end() ? nullptr : &place->second;
}

bool CadState::at_home(Rank server, int document) const {
  const std::vector<Shard>& shards = batch_.documents[static_cast<size_t>(document)].shards;
  return shards.size() == 1 && shards.front().home == server;
}

double CadState::bytes_to_receive(Rank server, int document, const Piece& part) const {
  if (at_home(server, document)) return 0;
  const Rows* rows = rows_held(server, document);
  const int64_t q = rows ? rows->q.missing(part.q) : part.q.size();
  const int64_t kv = rows ? rows->kv.missing(part.kv) : part.kv.size();
  const ModelShape& shape = request_.shape;
  return static_cast<double>(q * (shape.q_row_bytes() + shape.o_row_bytes()) +
                             kv * shape.kv_row_bytes());
}

double CadState::bytes_released(int id, const Piece& box) const {
  const WorkItem& whole = item(id);
  if (!spans_servers(whole.document) || box.q != whole.piece.q) return 0;
  const auto& others = together_.at({whole.server, whole.document});
  if (others.size() > kMaxItemsTogether) return 0;
  RangeSet keys;  // fetched for this part alone
  keys.add(trim(box).kv);
  for (const Shard& shard : batch_.documents[static_cast<size_t>(whole.document)].shards) {
    if (shard.home == whole.server) keys.remove(shard.rows);
  }
  for (const int other : others) {
    if (other != id) keys.remove(item(other).piece.kv);
  }
  for (const Piece& rest : remainders(whole.piece, box)) keys.remove(rest.kv);
  return static_cast<double>(keys.size() * request_.shape.kv_row_bytes());
}

void CadState::give(int id, const Piece& box, Rank receiver) {
  const WorkItem whole = item(id);
  CADENZA_CHECK(receiver != whole.server && whole.cost > 0);
  remove_item(id);
  double kept = 0;
  for (const Piece& rest : remainders(whole.piece, box)) {
    if (!rest.q.empty()) kept += add_item(whole.document, rest, whole.server);
  }
  const Piece part = trim(box);
  add_load(receiver, add_item(whole.document, part, receiver));
  add_load(whole.server, kept - whole.cost);
  if (at_home(receiver, whole.document)) return;
  Rows& rows = hold(receiver, whole.document);
  rows.q.add(part.q);
  rows.kv.add(part.kv);
}

double CadState::add_item(int document, const Piece& piece, Rank server) {
  const int id = static_cast<int>(items_.size());
  items_.push_back({document, piece, server, cost(piece)});
  by_server_[static_cast<size_t>(server)].insert({items_.back().cost, id});
  if (spans_servers(document)) together_[{server, document}].insert(id);
  return items_.back().cost;
}

void CadState::remove_item(int id) {
  WorkItem& gone = items_[static_cast<size_t>(id)];
  by_server_[static_cast<size_t>(gone.server)].erase({gone.cost, id});
  if (spans_servers(gone.document)) together_[{gone.server, gone.document}].erase(id);
  gone.cost = 0;
}

void CadState::add_load(Rank server, double cost) {
  const double speed = request_.cluster.speed(server);
  by_room_.erase({room(server), server});
  by_load_.erase({load(server) / speed, server});
  loads_[static_cast<size_t>(server)] += cost;
  by_load_.insert({load(server) / speed, server});
  by_room_.insert({room(server), server});
}

std::vector<Task> CadState::tasks() const {
  std::vector<Task> tasks;
  for (int s = 0; s < servers(); ++s) {
    for (const auto& [cost, id] : items_of(s)) {
      tasks.push_back(
          {.document = item(id).document, .piece = item(id).piece, .heads = {}, .server = s});
    }
  }
  return tasks;
}

}  // namespace cadenza
