#include "testing/random_batch.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace cadenza {
namespace {

bool one_in(Rng& rng, uint64_t n) { return uniform_below(rng, n) == 0; }

// One token, odd, or any length, about equally often.
int64_t random_length(Rng& rng, int64_t max_length) {
  const int64_t length = uniform_between(rng, 1, max_length);
  switch (uniform_below(rng, 4)) {
    case 0:
      return 1;
    case 1:
      return length;
    default:
      return length % 2 == 1 ? length : length - 1;
  }
}

// Numbers may pass the length: a window longer than the document is legal.
Mask random_mask(Rng& rng, int64_t length) {
  Mask mask;
  const auto number = [&](int64_t low) { return uniform_between(rng, low, length + 2); };
  switch (uniform_below(rng, 6)) {
    case 0:
      mask.kind = Mask::Kind::kFull;
      break;
    case 1:
      mask.kind = Mask::Kind::kChunked;
      mask.chunk = number(1);
      break;
    case 2:
      mask.kind = Mask::Kind::kPrefix;
      mask.prefix = number(0);
      break;
    case 3:
      mask.kind = Mask::Kind::kWindow;
      mask.window = number(1);
      break;
    case 4:
      mask.kind = Mask::Kind::kWindow;
      mask.window = number(1);
      mask.sinks = uniform_between(rng, 1, 4);
      break;
    default:
      break;
  }
  return mask;
}

// `parts` non-empty ranges that tile [0, length).
std::vector<Range> random_cuts(Rng& rng, int64_t length, int64_t parts) {
  std::set<int64_t> cuts = {0, length};
  while (static_cast<int64_t>(cuts.size()) < parts + 1) {
    cuts.insert(uniform_between(rng, 1, length - 1));
  }
  std::vector<Range> ranges;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    ranges.push_back({*cut, *std::next(cut)});
  }
  return ranges;
}

// Shards in any order of ranks; a rank may hold several of one document.
void place_anywhere(Rng& rng, Document& document, const std::vector<Rank>& ranks) {
  const int64_t most = std::min<int64_t>(document.length, static_cast<int64_t>(ranks.size()) + 2);
  const int64_t parts = one_in(rng, 2) ? 1 : uniform_between(rng, 1, most);
  for (const Range rows : random_cuts(rng, document.length, parts)) {
    document.shards.push_back({rows, ranks[uniform_below(rng, ranks.size())]});
  }
}

Document make_document(Rng& rng, int64_t length, bool masks) {
  Document document;
  document.length = length;
  document.queries = {0, length};
  if (masks) document.mask = random_mask(rng, length);
  return document;
}

// One document of which every rank holds a shard, in a random order of ranks.
Batch one_over_all_ranks(Rng& rng, const RandomBatchOptions& options) {
  const int64_t ranks = options.ranks;
  const int64_t length = uniform_between(rng, ranks, std::max(options.max_length, ranks));
  Document document = make_document(rng, length, options.masks);
  std::vector<Rank> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  if (one_in(rng, 2)) shuffle(order, rng);
  const std::vector<Range> ranges = random_cuts(rng, length, ranks);
  for (size_t i = 0; i < ranges.size(); ++i) document.shards.push_back({ranges[i], order[i]});
  return {options.ranks, {std::move(document)}};
}

// All ranks, or all but one.
std::vector<Rank> ranks_with_tokens(Rng& rng, int ranks) {
  std::vector<Rank> chosen(static_cast<size_t>(ranks));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (ranks > 1 && one_in(rng, 3)) {
    const auto idle = static_cast<std::ptrdiff_t>(uniform_below(rng, chosen.size()));
    chosen.erase(chosen.begin() + idle);
  }
  return chosen;
}

}  // namespace

Batch random_batch(Rng& rng, const RandomBatchOptions& options) {
  if (one_in(rng, 5)) return one_over_all_ranks(rng, options);
  std::vector<Document> documents;
  int64_t tokens = 0;
  const int64_t count = uniform_between(rng, 1, options.max_documents);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = random_length(rng, options.max_length);
    documents.push_back(make_document(rng, length, options.masks));
    tokens += length;
  }
  if (one_in(rng, 3)) {
    return fill_sequentially(std::move(documents), options.ranks,
                             (tokens + options.ranks - 1) / options.ranks);
  }
  const std::vector<Rank> ranks = ranks_with_tokens(rng, options.ranks);
  for (Document& document : documents) place_anywhere(rng, document, ranks);
  return {options.ranks, std::move(documents)};
}

}  // namespace cadenza
