#include "planner/nano_batches.h"

#include <algorithm>
#include <utility>

#include "core/mask.h"
#include "planner/request_batch.h"

namespace cadenza {
namespace {

int64_t tokens_of(const std::vector<Document>& documents) {
  int64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return tokens;
}

int64_t even_share(int64_t tokens, int ranks) { return (tokens + ranks - 1) / ranks; }

/// True where some query before `cut` sees a key behind it.
bool looks_ahead(const Document& document, int64_t cut) {
  const Piece ahead{{0, cut}, {cut, document.length}, Band::full()};
  const std::vector<Piece> pieces = mask_pieces(document.mask, document.length);
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return count_pairs(intersect(piece, ahead)) > 0; });
}

/// Tokens of the first nano-batch, at most `wanted` where that is inside a document that may be cut
/// there; else up to the nearer end of the document, the larger half first.
int64_t cut_near(const std::vector<Document>& documents, int64_t wanted, bool inside_documents) {
  int64_t begin = 0;
  for (const Document& document : documents) {
    const int64_t end = begin + document.length;
    if (end >= wanted) {
      if (end == wanted) return end;
      if (inside_documents && !looks_ahead(document, wanted - begin)) return wanted;
      return wanted - begin >= end - wanted ? end : begin;
    }
    begin = end;
  }
  return begin;
}

/// Shards of one document from its row `first` on, laid behind `filled` tokens of a nano-batch.
void append_shards(Document& document, Range rows, int64_t filled, int64_t tokens_per_rank) {
  for (int64_t begin = rows.begin; begin < rows.end;) {
    const int64_t laid = filled + begin - rows.begin;
    const int64_t rank = laid / tokens_per_rank;
    const int64_t end = std::min(rows.end, begin + (rank + 1) * tokens_per_rank - laid);
    document.shards.push_back({{begin, end}, static_cast<Rank>(rank)});
    begin = end;
  }
}

class Split {
 public:
  Split(const PlanRequest& request, int64_t cut, bool places) : cut_(cut), places_(places) {
    const int64_t tokens = tokens_of(request.documents);
    const int64_t sizes[] = {cut, tokens - cut};
    for (int nano = 0; nano < 2; ++nano) {
      NanoBatchRequest& half = halves_.emplace_back();
      half.request = request;
      half.request.documents.clear();
      half.request.homes_given = !places;
      half.request.tokens_per_rank = std::max<int64_t>(1, even_share(sizes[nano], request.homes));
      if (places && !request.options.capacity)
        half.request.options.capacity = request.tokens_per_rank;
    }
    for (const Document& document : request.documents) add(document);
  }

  std::vector<NanoBatchRequest> take() { return std::move(halves_); }

 private:
  void add(const Document& whole) {
    Document document = whole;
    document.shards.clear();
    const Range first = intersect(Range{0, document.length}, Range{0, cut_ - laid_});
    const Range second{first.end, document.length};
    if (!places_) {
      append_shards(document, first, laid_, halves_[0].request.tokens_per_rank);
      append_shards(document, second, std::max<int64_t>(0, laid_ - cut_),
                    halves_[1].request.tokens_per_rank);
    }
    put(0, document, first);
    put(1, document, second);
    laid_ += document.length;
    ++index_;
  }

  void put(int nano, Document document, Range rows) {
    if (rows.empty()) return;
    document.queries = intersect(document.queries, rows);
    document.nano_batch = nano;
    NanoBatchRequest& half = halves_[static_cast<size_t>(nano)];
    half.request.documents.push_back(std::move(document));
    half.documents.push_back(index_);
  }

  const int64_t cut_;
  const bool places_;
  std::vector<NanoBatchRequest> halves_;
  int64_t laid_ = 0;
  int index_ = 0;
};

}  // namespace

std::vector<NanoBatchRequest> split_nano_batches(const Strategy& strategy,
                                                 const PlanRequest& request) {
  check_request(request);
  if (request.homes_given) {
    throw ConfigError(
        "[planner] expected documents without homes for the ping-pong schedule, got homes; leave "
        "them out, or use schedule plain");
  }
  const bool places = strategy.places_tokens || request.options.placement == Placement::kFree;
  const int64_t tokens = tokens_of(request.documents);
  if (!places) fill_sequentially(request.documents, request.homes, request.tokens_per_rank);
  const int64_t half = even_share(tokens, 2 * request.homes) * request.homes;
  const int64_t cut = cut_near(request.documents, std::min(half, tokens), !places);
  return Split(request, cut, places).take();
}

}  // namespace cadenza
