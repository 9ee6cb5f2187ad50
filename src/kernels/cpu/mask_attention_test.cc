#include <utility>

#include "kernels/packed_documents_test.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20251103;

/// A disjoint union: a grid of rectangles at random cuts, each with a band of its own or left out.
Mask random_pieces(Rng& rng, int64_t length) {
  Mask mask{.kind = Mask::Kind::kPieces};
  const int64_t q_cut = uniform_between(rng, 0, length), kv_cut = uniform_between(rng, 0, length);
  for (const Range q : {Range{0, q_cut}, Range{q_cut, length}}) {
    for (const Range kv : {Range{0, kv_cut}, Range{kv_cut, length}}) {
      if (uniform_below(rng, 5) == 0) continue;
      Band band = Band::full();
      if (uniform_below(rng, 2) == 0) band.highest = uniform_between(rng, -length / 2, length);
      if (uniform_below(rng, 3) == 0) band.lowest = uniform_between(rng, -length, length / 2);
      mask.explicit_pieces.push_back({q, kv, band});
    }
  }
  return mask;
}

/// Cuts a task in two at a random query, key or head.
std::pair<AttentionTask, AttentionTask> cut_task(Rng& rng, const AttentionTask& task) {
  AttentionTask first = task, second = task;
  switch (uniform_below(rng, 3)) {
    case 0:
      first.q_rows = uniform_between(rng, 0, task.q_rows);
      second.q_begin += first.q_rows, second.q_rows -= first.q_rows;
      second.lowest += first.q_rows, second.highest += first.q_rows;
      break;
    case 1:
      first.kv_rows = uniform_between(rng, 0, task.kv_rows);
      second.kv_begin += first.kv_rows, second.kv_rows -= first.kv_rows;
      second.lowest -= first.kv_rows, second.highest -= first.kv_rows;
      break;
    default:
      first.head_end = uniform_between(rng, task.head_begin, task.head_end);
      second.head_begin = first.head_end;
  }
  return {first, second};
}

/// Every document cut at random and merged in a random order, behind tasks that write all rows.
void tasks_of_random_cuts(Rng& rng, PackedDocuments& pack) {
  const int64_t heads = pack.c.shape.heads;
  std::vector<AttentionTask> cut, tasks;
  for (size_t i = 0; i < pack.documents.size(); ++i) {
    tasks.push_back(empty_task(pack.rows(i), heads));
    const Document& document = pack.documents[i];
    for (const Piece& piece : mask_pieces(document.mask, document.length)) {
      cut.push_back(piece_task(piece, pack.begins[i], heads));
    }
  }
  for (int64_t cuts = uniform_between(rng, 0, 12); cuts > 0 && !cut.empty(); --cuts) {
    AttentionTask& task = cut[uniform_below(rng, cut.size())];
    const auto [first, second] = cut_task(rng, task);
    task = first;
    cut.push_back(second);
  }
  shuffle(cut, rng);
  tasks.insert(tasks.end(), cut.begin(), cut.end());
  pack.c.tasks = std::move(tasks);
}

class MaskAttention : public EveryIsa {
 protected:
  void expect_definition(PackedDocuments& pack, int threads = 1) const {
    const DefinedResults expected = defined_results(pack);
    forward_and_backward(pack.c, *backend(threads));
    expect_defined_results(pack, expected);
  }
};

TEST_P(MaskAttention, EveryKindAsItsPiecesIsItsDefinition) {
  constexpr int64_t kLength = 137;
  Rng rng(kSeed);
  const std::vector<Mask> masks{
      {.kind = Mask::Kind::kCausal},
      {.kind = Mask::Kind::kFull},
      {.kind = Mask::Kind::kWindow, .window = 1},
      {.kind = Mask::Kind::kWindow, .window = 33},
      {.kind = Mask::Kind::kWindow, .window = 20, .sinks = 3},
      {.kind = Mask::Kind::kWindow, .window = 2 * kLength, .sinks = 5},
      {.kind = Mask::Kind::kChunked, .chunk = 1},
      {.kind = Mask::Kind::kChunked, .chunk = 50},
      {.kind = Mask::Kind::kPrefix, .prefix = 0},
      {.kind = Mask::Kind::kPrefix, .prefix = 70},
      {.kind = Mask::Kind::kPrefix, .prefix = 2 * kLength},
      random_pieces(rng, kLength),
      random_pieces(rng, kLength),
      {.kind = Mask::Kind::kPieces},  // none: no row sees anything
  };
  const AttentionShape shape{
      .heads = 4, .kv_heads = 2, .head_dim = 16, .v_head_dim = 24, .scale = 0.25f};
  for (size_t i = 0; i < masks.size(); ++i) {
    SCOPED_TRACE(cat("mask ", i, ", ", mask_kind_name(masks[i].kind), ", seed ", kSeed));
    std::vector<Document> documents = documents_of_lengths({kLength});
    documents[0].mask = masks[i];
    PackedDocuments pack = pack_documents(rng, shape, documents, true);
    tasks_of_pieces(pack);
    expect_definition(pack);
  }
}

TEST_P(MaskAttention, PacksCutAtRandomQueriesKeysAndHeadsAreTheirDefinition) {
  for (uint64_t seed = kSeed; seed < kSeed + 25; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    const int64_t kv_heads = uniform_between(rng, 1, 2), ratio = uniform_between(rng, 1, 5);
    const int64_t dim = 8 * uniform_between(rng, 1, 8), v_dim = 8 * uniform_between(rng, 1, 8);
    const AttentionShape shape{kv_heads * ratio, kv_heads, dim, v_dim,
                               1 / std::sqrt(static_cast<float>(dim))};
    Batch batch =
        random_batch(rng, {.ranks = 1, .max_documents = 5, .max_length = 110, .masks = true});
    for (Document& document : batch.documents) {
      if (uniform_below(rng, 4) == 0) document.mask = random_pieces(rng, document.length);
    }
    PackedDocuments pack = pack_documents(rng, shape, batch.documents, uniform_below(rng, 2) == 0);
    tasks_of_random_cuts(rng, pack);
    expect_definition(pack);
  }
}

TEST_P(MaskAttention, HundredsOfDocumentsOfAFewTokensAreTheirDefinition) {
  Rng rng(kSeed + 100);
  const AttentionShape shape{
      .heads = 8, .kv_heads = 2, .head_dim = 64, .v_head_dim = 64, .scale = 0.125f};
  std::vector<int64_t> lengths;
  for (int i = 0; i < 400; ++i) lengths.push_back(uniform_between(rng, 1, 9));
  std::vector<Document> documents = documents_of_lengths(lengths);
  for (size_t i = 0; i < documents.size(); i += 3) {
    documents[i].mask = i % 2 == 0 ? Mask{.kind = Mask::Kind::kWindow, .window = 2, .sinks = 1}
                                   : Mask{.kind = Mask::Kind::kFull};
  }
  PackedDocuments pack = pack_documents(rng, shape, documents, false);
  tasks_of_pieces(pack);
  expect_definition(pack, 2);
}

TEST_P(MaskAttention, PacksGiveTheSameBitsForAnyNumberOfThreads) {
  for (uint64_t seed = kSeed + 200; seed < kSeed + 206; ++seed) {
    std::vector<std::vector<std::vector<float>>> results;
    for (const int threads : {1, 2, 3, 5}) {
      Rng rng(seed);
      const Batch batch =
          random_batch(rng, {.ranks = 1, .max_documents = 12, .max_length = 150, .masks = true});
      PackedDocuments pack = pack_documents(rng, {6, 2, 16, 16, 0.25f}, batch.documents, false);
      tasks_of_random_cuts(rng, pack);
      forward_and_backward(pack.c, *backend(threads));
      const AttentionCase& c = pack.c;
      results.push_back({c.o.memory, c.lse.memory, c.dq.memory, c.dk.memory, c.dv.memory});
      EXPECT_EQ(results.back(), results[0]) << threads << " threads, seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, MaskAttention, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
