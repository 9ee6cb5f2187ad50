#include "core/plan.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace cadenza {
namespace {

// Writes every field as 8 little-endian bytes, so that the hash does not depend on the machine.
class Hasher {
 public:
  void add(int64_t value) {
    char bytes[8];
    auto rest = static_cast<uint64_t>(value);
    for (char& byte : bytes) {
      byte = static_cast<char>(rest & 0xff);
      rest >>= 8;
    }
    state_ = hash_bytes({bytes, sizeof(bytes)}, state_);
  }
  void add_size(size_t size) { add(static_cast<int64_t>(size)); }
  void add(Range range) {
    add(range.begin);
    add(range.end);
  }
  void add(const Piece& piece) {
    add(piece.q);
    add(piece.kv);
    add(piece.band.lowest);
    add(piece.band.highest);
  }
  void add(const std::string& text) {
    add_size(text.size());
    state_ = hash_bytes(text, state_);
  }
  uint64_t state() const { return state_; }

 private:
  uint64_t state_ = hash_bytes("cadenza-plan 1");
};

void add_mask(Hasher& hasher, const Mask& mask) {
  hasher.add(std::string(mask_kind_name(mask.kind)));
  hasher.add(mask.window);
  hasher.add(mask.sinks);
  hasher.add(mask.chunk);
  hasher.add(mask.prefix);
  hasher.add_size(mask.explicit_pieces.size());
  for (const Piece& piece : mask.explicit_pieces) hasher.add(piece);
}

void add_document(Hasher& hasher, const Document& document) {
  hasher.add(document.length);
  add_mask(hasher, document.mask);
  hasher.add_size(document.shards.size());
  for (const Shard& shard : document.shards) {
    hasher.add(shard.rows);
    hasher.add(int64_t{shard.home});
  }
  hasher.add(document.queries);
  hasher.add(int64_t{document.nano_batch});
}

void add_task(Hasher& hasher, const Task& task) {
  hasher.add(int64_t{task.document});
  hasher.add(task.piece);
  hasher.add(task.heads);
  hasher.add(int64_t{task.server});
  hasher.add(int64_t{task.round});
  hasher.add(int64_t{task.via});
}

// A sum of shares pairs × heads / all_heads, kept as whole pairs and a rest in units of 1 /
// all_heads: the products themselves could pass 64 bits.
struct ShareSum {
  int64_t whole = 0;
  int64_t rest = 0;

  void add(int64_t pairs, int64_t heads, int64_t all_heads) {
    const int64_t part = pairs % all_heads * heads;
    whole += pairs / all_heads * heads + part / all_heads;
    rest += part % all_heads;
  }
};

}  // namespace

int64_t named_heads(const Plan& plan) {
  int64_t heads = 0;
  for (const Task& task : plan.tasks) {
    if (!task.heads.empty()) heads = std::max(heads, task.heads.end);
  }
  return heads;
}

std::vector<int64_t> pairs_per_server(const Plan& plan) {
  const int64_t all_heads = std::max<int64_t>(named_heads(plan), 1);
  std::vector<ShareSum> sums(static_cast<size_t>(plan.servers));
  for (const Task& task : plan.tasks) {
    CADENZA_CHECK(task.server >= 0 && task.server < plan.servers, "server ", task.server);
    const int64_t heads = task.heads.empty() ? all_heads : task.heads.size();
    sums[static_cast<size_t>(task.server)].add(count_pairs(task.piece), heads, all_heads);
  }
  std::vector<int64_t> pairs;
  pairs.reserve(sums.size());
  for (const ShareSum& sum : sums) pairs.push_back(sum.whole + sum.rest / all_heads);
  return pairs;
}

uint64_t plan_hash(const Plan& plan) {
  Hasher hasher;
  hasher.add(plan.strategy);
  hasher.add(int64_t{plan.servers});
  hasher.add(int64_t{plan.batch.homes});
  hasher.add_size(plan.batch.documents.size());
  for (const Document& document : plan.batch.documents) add_document(hasher, document);
  hasher.add_size(plan.tasks.size());
  for (const Task& task : plan.tasks) add_task(hasher, task);
  return hasher.state();
}

}  // namespace cadenza
