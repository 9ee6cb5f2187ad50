#include "planner/strategies/cad/state.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "planner/home_tasks.h"
#include "planner/strategies/cad/ranges.h"

namespace cadenza {
namespace {

/// Above this many items in one cell, neighbours are not looked for: a mask of thousands of chunks
/// would make it quadratic, and its chunks have no neighbours.
constexpr size_t kMaxNeighbours = 64;

int64_t inside(Range range, const std::vector<Range>& ranges) {
  int64_t rows = 0;
  for (const Range& r : ranges) rows += intersect(range, r).size();
  return rows;
}

void append_joined(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

/// True where the box around two disjoint pieces holds exactly their pairs; `a` becomes that box.
bool join(Piece& a, const Piece& b) {
  const bool touch = a.q.end == b.q.begin || b.q.end == a.q.begin || a.kv.end == b.kv.begin ||
                     b.kv.end == a.kv.begin;
  if (!touch || a.band != b.band) return false;
  const Piece box{{std::min(a.q.begin, b.q.begin), std::max(a.q.end, b.q.end)},
                  {std::min(a.kv.begin, b.kv.begin), std::max(a.kv.end, b.kv.end)},
                  a.band};
  if (count_pairs(box) != count_pairs(a) + count_pairs(b)) return false;
  a = box;
  return true;
}

}  // namespace

Remainders::Remainders(const Piece& whole, const Piece& box) {
  const auto keep = [&](Range q, Range kv) {
    if (q.empty() || kv.empty()) return;
    const Piece piece = trim({q, kv, whole.band});
    if (!piece.q.empty()) pieces[count++] = piece;
  };
  keep({whole.q.begin, box.q.begin}, whole.kv);
  keep(box.q, {whole.kv.begin, box.kv.begin});
  keep(box.q, {box.kv.end, whole.kv.end});
  keep({box.q.end, whole.q.end}, whole.kv);
}

CadState::CadState(const PlanRequest& request, const Batch& batch, ReceiveLimits limits)
    : request_(request),
      batch_(batch),
      counts_pairs_(dynamic_cast<const PairsCostModel*>(request.cost) != nullptr),
      q_bytes_(static_cast<double>(request.shape.q_row_bytes())),
      o_bytes_(static_cast<double>(request.shape.o_row_bytes())),
      kv_bytes_(static_cast<double>(request.shape.kv_row_bytes())),
      home_(home_tasks(batch)),
      by_server_(static_cast<size_t>(request.cluster.servers)),
      by_document_(batch.documents.size()),
      loads_(static_cast<size_t>(request.cluster.servers), 0.0),
      use_(static_cast<size_t>(request.cluster.servers)),
      limits_(limits) {
  first_home_.assign(batch.documents.size() + 1, home_.size());
  items_.reserve(2 * home_.size());
  cells_.reserve(2 * home_.size());
  double total = 0;
  int64_t pairs = 0;
  for (size_t i = home_.size(); i-- > 0;) first_home_[static_cast<size_t>(home_[i].document)] = i;
  for (size_t d = batch.documents.size(); d-- > 0;) {
    first_home_[d] = std::min(first_home_[d], first_home_[d + 1]);
  }
  for (const Task& task : home_) {
    put(task.document, task.piece, task.server, cell_of(task.document, task.server));
    total += items_.back().cost;
    pairs += count_pairs(task.piece);
  }
  refresh_caps();
  if (total > 0) {
    cost_per_pair_ = total / static_cast<double>(pairs);
    bytes_per_root_cost_ = 2 * std::sqrt((q_bytes_ + o_bytes_) * kv_bytes_ / cost_per_pair_);
  }
  settle();
  logs_ = true;
}

void CadState::refresh_caps() {
  double total = 0, speeds = 0;
  for (Rank s = 0; s < servers(); ++s) {
    total += load(s);
    speeds += request_.cluster.speed(s);
  }
  set_caps(total / speeds * (1 + request_.tolerance));
}

void CadState::raise_caps(double time) {
  constexpr double kRounding = 1 + 1e-9;  // what takes that time is under its cap
  set_caps(time * kRounding);
}

void CadState::set_caps(double time) {
  // Others sum in another order: what is at its cap here is not to be above it there.
  const double rounding = counts_pairs_ ? 1 : 1 - 1e-12;
  cap_per_speed_ = time * rounding;
  rooms_ = {};
  settled_rooms_.clear();
  for (Rank s = 0; s < servers(); ++s) {
    settled_rooms_.push_back(room(s));
    rooms_.insert(room(s), s);
  }
}

void CadState::set_limits(const ReceiveLimits& limits) {
  limits_ = limits;
  over_limits_ = 0;
  for (const CellUse& use : use_) over_limits_ += !limits_.allow(use);
}

int CadState::find_cell(int document, Rank server) const {
  for (const int c : cells_of(document)) {
    if (cell(c).server == server) return c;
  }
  return -1;
}

int CadState::cell_of(int document, Rank server) {
  const int found = find_cell(document, server);
  if (found >= 0) return found;
  WorkCell& made = cells_.emplace_back();
  made.document = document;
  made.server = server;
  add_shard_rows(made);
  const int id = static_cast<int>(cells_.size()) - 1;
  by_document_[static_cast<size_t>(document)].push_back(id);
  return id;
}

void CadState::add_shard_rows(WorkCell& made) const {
  const Document& document = batch_.documents[static_cast<size_t>(made.document)];
  const bool weighted = request_.options.far_link_weight != 1;
  for (const Shard& shard : document.shards) {
    if (shard.home == made.server) {
      append_joined(made.home, shard.rows);
    } else if (weighted && request_.cluster.near(shard.home, made.server)) {
      append_joined(made.near, shard.rows);
    }
  }
  made.all_home = made.home.size() == 1 && made.home.front() == Range{0, document.length};
}

CellUse CadState::use_of(const WorkCell& cell, int skip, std::span<const Piece> more) const {
  if (cell.all_home) return {};
  const double far = request_.options.far_link_weight;
  const auto rows_of = [&](Range Piece::*side) {
    if (cell.items.size() + more.size() == 1 && skip < 0) {
      const Range only = (more.empty() ? item(cell.items.front()).piece : more.front()).*side;
      const auto foreign = static_cast<double>(only.size() - inside(only, cell.home));
      const auto near = cell.near.empty() ? 0 : static_cast<double>(inside(only, cell.near));
      return std::pair(foreign, far * foreign - (far - 1) * near);
    }
    OrderedRanges ranges(cell.items.size() + more.size());
    for (const int id : cell.items) {
      if (id != skip) ranges.add(item(id).piece.*side);
    }
    for (const Piece& piece : more) ranges.add(piece.*side);
    int64_t foreign = 0, near = 0;
    ranges.visit_union([&](Range range) {
      foreign += range.size() - inside(range, cell.home);
      near += inside(range, cell.near);
    });
    const double weighted =
        far * static_cast<double>(foreign) - (far - 1) * static_cast<double>(near);
    return std::pair(static_cast<double>(foreign), weighted);
  };
  const auto [q, q_weighted] = rows_of(&Piece::q);
  const auto [kv, kv_weighted] = rows_of(&Piece::kv);
  return {.bytes = q_weighted * (q_bytes_ + o_bytes_) + kv_weighted * kv_bytes_,
          .recv = q * q_bytes_ + kv * kv_bytes_,
          .kv = kv * kv_bytes_};
}

namespace {

CellUse minus(const CellUse& a, const CellUse& b) {
  return {a.bytes - b.bytes, a.recv - b.recv, a.kv - b.kv};
}

}  // namespace

CellUse CadState::added(Rank server, int document, const Piece& part) const {
  const int id = find_cell(document, server);
  const std::span<const Piece> more{&part, 1};
  if (id >= 0) return minus(use_of(cell(id), -1, more), cell(id).use);
  if (request_.options.far_link_weight == 1) {
    const auto q = static_cast<double>(part.q.size()), kv = static_cast<double>(part.kv.size());
    return {q * (q_bytes_ + o_bytes_) + kv * kv_bytes_, q * q_bytes_ + kv * kv_bytes_,
            kv * kv_bytes_};
  }
  WorkCell made;
  made.document = document;
  made.server = server;
  add_shard_rows(made);
  return use_of(made, -1, more);
}

CellUse CadState::released(int id, const Piece& box) const {
  const WorkCell& from = cell(item(id).cell);
  if (from.all_home) return {};
  return minus(from.use, use_of(from, id, Remainders(item(id).piece, box).span()));
}

double CadState::most_released(int id, const Piece& box) const {
  const WorkCell& from = cell(item(id).cell);
  if (from.all_home) return 0;
  const double far = std::max(1.0, request_.options.far_link_weight);
  const auto q = static_cast<double>(box.q.size() - inside(box.q, from.home));
  const auto kv = static_cast<double>(box.kv.size() - inside(box.kv, from.home));
  return far * (q * (q_bytes_ + o_bytes_) + kv * kv_bytes_);
}

void CadState::give(int id, const Piece& box, Rank receiver) {
  const WorkItem whole = item(id);
  CADENZA_CHECK(receiver != whole.server && whole.cost > 0);
  take(id);
  for (const Piece& rest : Remainders(whole.piece, box).span()) {
    add(whole.document, rest, whole.server);
  }
  add(whole.document, trim(box), receiver);
  settle();
}

void CadState::return_document(int document) {
  for (const int c : cells_of(document)) {
    while (!cell(c).items.empty()) take(cell(c).items.back());
  }
  const auto d = static_cast<size_t>(document);
  for (size_t i = first_home_[d]; i < first_home_[d + 1]; ++i) {
    put(document, home_[i].piece, home_[i].server, cell_of(document, home_[i].server));
  }
  settle();
}

void CadState::return_foreign(int c) {
  const std::vector<int> ids = cell(c).items;
  std::vector<Piece> returned;
  for (const int id : ids) {
    if (inside(item(id).piece.q, cell(c).home) == item(id).piece.q.size()) continue;
    returned.push_back(item(id).piece);
    take(id);
  }
  for (const Piece& piece : returned) add_home(cell(c).document, piece);
  settle();
}

void CadState::assign(const std::vector<Task>& tasks) {
  for (size_t c = 0; c < cells_.size(); ++c) {
    while (!cells_[c].items.empty()) take(cells_[c].items.back());
  }
  for (const Task& task : tasks)
    put(task.document, task.piece, task.server, cell_of(task.document, task.server));
  settle();
}

void CadState::add_home(int document, const Piece& piece) {
  for (const Shard& shard : batch_.documents[static_cast<size_t>(document)].shards) {
    const Piece part = trim({intersect(shard.rows, piece.q), piece.kv, piece.band});
    if (!part.q.empty()) add(document, part, shard.home);
  }
}

void CadState::add(int document, Piece piece, Rank server) {
  const int c = cell_of(document, server);
  const auto neighbour = [&] {
    const std::vector<int>& ids = cell(c).items;
    if (ids.size() > kMaxNeighbours) return -1;
    for (const int id : ids) {
      if (join(piece, item(id).piece)) return id;
    }
    return -1;
  };
  for (int id = neighbour(); id >= 0; id = neighbour()) take(id);
  put(document, piece, server, c);
}

int CadState::take(int id) {
  log_.push_back({false, id, item(id)});
  unlink(id);
  free_.push_back(id);
  return log_.back().item.cell;
}

void CadState::put(int document, const Piece& piece, Rank server, int c) {
  int id;
  if (free_.empty()) {
    id = static_cast<int>(items_.size());
    items_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  WorkItem& made = items_[static_cast<size_t>(id)];
  made.document = document;
  made.piece = piece;
  made.server = server;
  made.cost = cost(piece);
  made.cell = c;
  if (logs_) log_.push_back({true, id, {}});
  link(id);
}

void CadState::link(int id) {
  WorkItem& made = items_[static_cast<size_t>(id)];
  std::vector<int>& in_cell = cells_[static_cast<size_t>(made.cell)].items;
  std::vector<int>& in_server = by_server_[static_cast<size_t>(made.server)];
  made.in_cell = static_cast<int>(in_cell.size());
  made.in_server = static_cast<int>(in_server.size());
  in_cell.push_back(id);
  in_server.push_back(id);
  loads_[static_cast<size_t>(made.server)] += made.cost;
  touch(made.cell);
}

void CadState::unlink(int id) {
  const WorkItem& gone = item(id);
  std::vector<int>& in_cell = cells_[static_cast<size_t>(gone.cell)].items;
  std::vector<int>& in_server = by_server_[static_cast<size_t>(gone.server)];
  items_[static_cast<size_t>(in_cell.back())].in_cell = gone.in_cell;
  items_[static_cast<size_t>(in_server.back())].in_server = gone.in_server;
  in_cell[static_cast<size_t>(gone.in_cell)] = in_cell.back();
  in_server[static_cast<size_t>(gone.in_server)] = in_server.back();
  in_cell.pop_back();
  in_server.pop_back();
  double& load = loads_[static_cast<size_t>(gone.server)];
  load = in_server.empty() ? 0 : load - gone.cost;  // exact, so that a cap of 0 can be kept
  touch(gone.cell);
}

void CadState::touch(int c) {
  if (touched_.empty() || touched_.back() != c) touched_.push_back(c);
}

void CadState::settle() {
  for (const int c : touched_) {
    WorkCell& changed = cells_[static_cast<size_t>(c)];
    const CellUse use = use_of(changed, -1, {});
    const CellUse more = minus(use, changed.use);
    changed.use = use;
    const auto s = static_cast<size_t>(changed.server);
    over_limits_ -= !limits_.allow(use_[s]);
    use_[s].bytes += more.bytes;
    use_[s].recv += more.recv;
    use_[s].kv += more.kv;
    over_limits_ += !limits_.allow(use_[s]);
    bytes_ += more.bytes;
    const double now = room(changed.server);
    if (now == settled_rooms_[s]) continue;
    rooms_.change(settled_rooms_[s], now, changed.server);
    settled_rooms_[s] = now;
  }
  touched_.clear();
}

void CadState::undo(size_t mark) {
  while (log_.size() > mark) {
    const Change& change = log_.back();
    if (change.added) {
      unlink(change.id);
      free_.push_back(change.id);
    } else {
      CADENZA_CHECK(!free_.empty() && free_.back() == change.id);
      free_.pop_back();
      items_[static_cast<size_t>(change.id)] = change.item;
      link(change.id);
    }
    log_.pop_back();
  }
  settle();
}

std::vector<Task> CadState::tasks() const {
  std::vector<Task> tasks;
  tasks.reserve(items_.size() - free_.size());
  for (int s = 0; s < servers(); ++s) {
    for (const int id : items_of(s)) {
      tasks.push_back(
          {.document = item(id).document, .piece = item(id).piece, .heads = {}, .server = s});
    }
  }
  return tasks;
}

}  // namespace cadenza
