#include "core/batch.h"

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

void check_shards(const Document& document, size_t index, int homes) {
  int64_t reached = 0;
  for (const Shard& shard : document.shards) {
    if (shard.rows.begin != reached || shard.rows.empty()) {
      throw DataError(cat("[batch] document ", index, ": expected a non-empty shard from ", reached,
                          " on, got ", shard.rows, "; let the shards tile [0, ", document.length,
                          ") in order"));
    }
    if (shard.home < 0 || shard.home >= homes) {
      throw DataError(cat("[batch] document ", index, ", shard ", shard.rows,
                          ": expected a home from 0 to ", homes - 1, ", got ", shard.home,
                          "; give it a rank that holds tokens"));
    }
    reached = shard.rows.end;
  }
  if (reached != document.length) {
    throw DataError(cat("[batch] document ", index, ": expected shards up to ", document.length,
                        ", got rows ", Range{reached, document.length},
                        " without a home; add a shard"));
  }
}

void check_document(const Document& document, size_t index) {
  if (document.length < 1) {
    throw DataError(cat("[batch] document ", index, ": expected a length >= 1, got ",
                        document.length, "; leave empty documents out"));
  }
  const Range all{0, document.length};
  if (document.queries.begin > document.queries.end || !all.contains(document.queries)) {
    throw DataError(cat("[batch] document ", index, ": expected queries inside ", all, ", got ",
                        document.queries, "; correct the rows that the plan covers"));
  }
  if (document.nano_batch < 0 || document.nano_batch > 1) {
    throw DataError(cat("[batch] document ", index, ": expected nano_batch 0 or 1, got ",
                        document.nano_batch, "; ping-pong has two"));
  }
}

// Adds one document's tokens to the sum; refuses what pair counts could not hold.
int64_t add_tokens(int64_t tokens, int64_t length, size_t index) {
  if (length <= kMaxTokens - tokens) return tokens + length;
  throw DataError(cat("[batch] document ", index, ": expected at most ", kMaxTokens,
                      " tokens in a batch, got ", tokens, " before it and ", length,
                      " in it; split the batch"));
}

// Cuts [0, length) where ranks are full. `filled` counts the tokens of all ranks so far.
std::vector<Shard> shards_from(int64_t filled, int64_t length, int64_t tokens_per_rank) {
  std::vector<Shard> shards;
  for (int64_t begin = 0; begin < length;) {
    const int64_t rank = (filled + begin) / tokens_per_rank;
    const int64_t end = std::min(length, (rank + 1) * tokens_per_rank - filled);
    shards.push_back({{begin, end}, static_cast<Rank>(rank)});
    begin = end;
  }
  return shards;
}

/// The number of tokens. ConfigError (with the room that would do) when they do not fit.
int64_t check_room(const std::vector<Document>& documents, int ranks, int64_t tokens_per_rank) {
  if (ranks < 1) {
    throw ConfigError(cat("[batch] expected ranks >= 1, got ", ranks, "; give at least one"));
  }
  int64_t tokens = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    tokens = add_tokens(tokens, documents[i].length, i);
  }
  const int64_t least = std::max<int64_t>((tokens + ranks - 1) / ranks, 1);
  if (tokens_per_rank >= least) return tokens;
  throw ConfigError(cat("[batch] expected room for ", tokens, " tokens on ", ranks, " ranks, got ",
                        tokens_per_rank, " tokens a rank; give at least ", least));
}

}  // namespace

std::vector<LocalShard> local_shards(const Batch& batch, Rank rank) {
  std::vector<LocalShard> local;
  int64_t first_row = 0;
  for (size_t i = 0; i < batch.documents.size(); ++i) {
    for (const Shard& shard : batch.documents[i].shards) {
      const Range rows = intersect(shard.rows, batch.documents[i].queries);
      if (shard.home != rank || rows.empty()) continue;
      local.push_back({static_cast<int>(i), rows, first_row});
      first_row += rows.size();
    }
  }
  return local;
}

int64_t local_rows(const Batch& batch, Rank rank) {
  int64_t rows = 0;
  for (const LocalShard& shard : local_shards(batch, rank)) rows += shard.rows.size();
  return rows;
}

std::vector<Document> documents_of_lengths(const std::vector<int64_t>& lengths) {
  std::vector<Document> documents;
  documents.reserve(lengths.size());
  int64_t tokens = 0;
  for (const int64_t length : lengths) {
    Document document{.length = length, .mask = {}, .shards = {}, .queries = {0, length}};
    check_document(document, documents.size());
    tokens = add_tokens(tokens, length, documents.size());
    documents.push_back(std::move(document));
  }
  return documents;
}

Batch fill_sequentially(std::vector<Document> documents, int ranks, int64_t tokens_per_rank) {
  check_room(documents, ranks, tokens_per_rank);
  // More than all tokens changes nothing, and keeps the products below small.
  tokens_per_rank = std::min(tokens_per_rank, kMaxTokens);
  int64_t filled = 0;
  for (Document& document : documents) {
    document.shards = shards_from(filled, document.length, tokens_per_rank);
    filled += document.length;
  }
  return {ranks, std::move(documents)};
}

Batch fill_evenly(std::vector<Document> documents, int ranks, int64_t tokens_per_rank) {
  const int64_t tokens = check_room(documents, ranks, tokens_per_rank);
  // Rank r holds the batch's tokens from tokens * r / ranks on.
  const auto end_of = [&](Rank rank) { return tokens * (rank + 1) / ranks; };
  Rank rank = 0;
  int64_t filled = 0;
  for (Document& document : documents) {
    document.shards.clear();
    for (int64_t begin = 0; begin < document.length;) {
      while (end_of(rank) <= filled + begin) ++rank;
      const int64_t end = std::min(document.length, end_of(rank) - filled);
      document.shards.push_back({{begin, end}, rank});
      begin = end;
    }
    filled += document.length;
  }
  return {ranks, std::move(documents)};
}

int64_t count_pairs(const Batch& batch) {
  int64_t pairs = 0;
  for (const Document& document : batch.documents) {
    for (Piece piece : mask_pieces(document.mask, document.length)) {
      piece.q = intersect(piece.q, document.queries);
      pairs += count_pairs(piece);
    }
  }
  return pairs;
}

void check_batch(const Batch& batch) {
  if (batch.homes < 1) {
    throw DataError(
        cat("[batch] expected homes >= 1, got ", batch.homes, "; some rank must hold the tokens"));
  }
  int64_t tokens = 0;
  for (size_t i = 0; i < batch.documents.size(); ++i) {
    check_document(batch.documents[i], i);
    tokens = add_tokens(tokens, batch.documents[i].length, i);
    check_shards(batch.documents[i], i, batch.homes);
  }
}

}  // namespace cadenza
