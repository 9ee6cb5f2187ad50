#include "core/coverage.h"

#include <algorithm>
#include <limits>

#include "core/strip.h"

namespace cadenza {
namespace {

// Where a sum of linear functions changes: what is added to its value and its slope from row q on.
struct Change {
  int64_t q = 0;
  int64_t value = 0;
  int64_t slope = 0;
};

void append_changes(const std::vector<Piece>& pieces, int64_t sign, std::vector<Change>& changes) {
  std::vector<Strip> strips;
  for (size_t i = 0; i < pieces.size(); ++i) append_strips(pieces[i], i, strips);
  for (const Strip& strip : strips) {
    const auto keys_at_row = [&](int64_t row) { return strip.right_at(row) - strip.left_at(row); };
    const int64_t slope = strip.right_slope - strip.left_slope;
    changes.push_back({strip.q.begin, sign * keys_at_row(strip.q.begin), sign * slope});
    changes.push_back({strip.q.end, -sign * keys_at_row(strip.q.end), -sign * slope});
  }
}

}  // namespace

PieceIndex::PieceIndex(std::vector<Piece> pieces)
    : pieces_(std::move(pieces)), largest_end_(pieces_.size()) {
  const auto fill = [this](const auto& self, size_t begin, size_t end) -> int64_t {
    if (begin == end) return std::numeric_limits<int64_t>::min();
    const size_t middle = begin + (end - begin) / 2;
    return largest_end_[middle] = std::max(
               {pieces_[middle].q.end, self(self, begin, middle), self(self, middle + 1, end)});
  };
  fill(fill, 0, pieces_.size());
}

int64_t PieceIndex::pairs_inside(const Piece& piece) const {
  return pairs_inside(piece, 0, pieces_.size());
}

int64_t PieceIndex::pairs_inside(const Piece& piece, size_t begin, size_t end) const {
  if (begin == end) return 0;
  const size_t middle = begin + (end - begin) / 2;
  if (largest_end_[middle] <= piece.q.begin) return 0;
  int64_t pairs = pairs_inside(piece, begin, middle);
  if (pieces_[middle].q.begin < piece.q.end) {
    pairs += count_pairs(intersect(piece, pieces_[middle]));
    pairs += pairs_inside(piece, middle + 1, end);
  }
  return pairs;
}

std::vector<Range> keys_at(const std::vector<Piece>& pieces, int64_t q) {
  std::vector<Range> keys;
  for (const Piece& piece : pieces) {
    const Range range = keys_of_query(piece, q);
    if (!range.empty()) keys.push_back(range);
  }
  std::sort(keys.begin(), keys.end(), [](Range a, Range b) { return a.begin < b.begin; });
  return keys;
}

std::optional<Range> first_missing(const std::vector<Range>& all, const std::vector<Range>& some) {
  auto other = some.begin();
  for (Range keys : all) {
    for (; other != some.end() && !keys.empty() && other->begin <= keys.begin; ++other) {
      keys.begin = std::max(keys.begin, other->end);
    }
    if (keys.empty()) {
      // The one that reached its end may reach into the next range of `all` too.
      if (other != some.begin()) --other;
      continue;
    }
    // What is left of `keys` begins before the next of `some`.
    if (other != some.end()) keys.end = std::min(keys.end, other->begin);
    return keys;
  }
  return std::nullopt;
}

std::optional<int64_t> first_difference(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  std::vector<Change> changes;
  append_changes(a, 1, changes);
  append_changes(b, -1, changes);
  std::sort(changes.begin(), changes.end(),
            [](const Change& x, const Change& y) { return x.q < y.q; });
  int64_t row = 0;
  int64_t value = 0;  // at `row`
  int64_t slope = 0;
  for (size_t i = 0; i < changes.size();) {
    // Equal at `row` and different slopes: they differ at the next row already.
    if (slope != 0 && changes[i].q > row + 1) return row + 1;
    value += slope * (changes[i].q - row);
    row = changes[i].q;
    for (; i < changes.size() && changes[i].q == row; ++i) {
      value += changes[i].value;
      slope += changes[i].slope;
    }
    if (value != 0) return row;
  }
  return std::nullopt;
}

}  // namespace cadenza
