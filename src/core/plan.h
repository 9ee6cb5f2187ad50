#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/piece.h"

namespace cadenza {

/// One unit of core attention: the pairs of `piece`, for a range of query heads, computed by one
/// server.
struct Task {
  int document = 0;
  Piece piece;
  Range heads;  // query heads; empty = all
  Rank server = 0;
  int round = 0;     // rows of round r travel while round r - 1 computes
  Rank via = kHome;  // kHome: rows come from their home; else those that the server does not hold
                     // yet come from this one, which has held them since an earlier round. Where
                     // tasks of a server and round differ on a row, the first by id wins

  static constexpr Rank kHome = -1;
  bool operator==(const Task&) const = default;
};

/// Homes and tasks of one batch: what a strategy returns. The id of a task is its index.
struct Plan {
  std::string strategy;
  int servers = 1;  // ranks that may compute; >= batch.homes where some only serve
  Batch batch;
  std::vector<Task> tasks;

  bool operator==(const Plan&) const = default;
};

/// The number of query heads that tasks name: the largest end of a head range; 0 where every task
/// has all heads. A plan does not know the model: whoever does compares this with the model's
/// heads.
int64_t named_heads(const Plan& plan);

/// Pairs per server, in the order of ranks. A task with a part of the heads counts its share of
/// named_heads(plan); a server's sum is rounded down.
std::vector<int64_t> pairs_per_server(const Plan& plan);

/// Equal plans have equal hashes on every machine; agreed by all ranks before the first exchange.
uint64_t plan_hash(const Plan& plan);

}  // namespace cadenza
