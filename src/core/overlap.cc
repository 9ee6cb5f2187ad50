#include "core/overlap.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/strip.h"

namespace cadenza {
namespace {

class Sweep {
 public:
  explicit Sweep(std::vector<Strip> strips)
      : strips_(std::move(strips)), active_(ByKey{&row_}), places_(strips_.size()) {}

  std::optional<Overlap> run() {
    const std::vector<size_t> by_begin = order([](const Strip& s) { return s.q.begin; });
    const std::vector<size_t> by_end = order([](const Strip& s) { return s.q.end; });
    size_t next_end = 0;
    for (const size_t entering : by_begin) {
      row_ = strips_[entering].q.begin;
      // A strip that ends at a row is gone before another begins there.
      for (; strips_[by_end[next_end]].q.end <= row_; ++next_end) {
        if (const auto overlap = leave(by_end[next_end])) return overlap;
      }
      if (const auto overlap = enter(entering)) return overlap;
    }
    return std::nullopt;
  }

 private:
  struct ByKey {
    const int64_t* row;
    bool operator()(const Strip* a, const Strip* b) const {
      return a->left_at(*row) < b->left_at(*row);
    }
  };
  using Active = std::set<const Strip*, ByKey>;

  template <typename Key>
  std::vector<size_t> order(Key key) const {
    std::vector<size_t> indices(strips_.size());
    std::iota(indices.begin(), indices.end(), size_t{0});
    std::sort(indices.begin(), indices.end(), [&](size_t a, size_t b) {
      return std::pair(key(strips_[a]), a) < std::pair(key(strips_[b]), b);
    });
    return indices;
  }

  std::optional<Overlap> enter(size_t index) {
    const Strip* strip = &strips_[index];
    const auto [place, is_new] = active_.insert(strip);
    if (!is_new) return make_overlap(**place, *strip, row_);
    places_[index] = place;
    if (place != active_.begin()) {
      if (const auto overlap = meeting(**std::prev(place), *strip)) return overlap;
    }
    const auto next = std::next(place);
    return next == active_.end() ? std::nullopt : meeting(*strip, **next);
  }

  std::optional<Overlap> leave(size_t index) {
    const auto next = active_.erase(places_[index]);
    if (next == active_.begin() || next == active_.end()) return std::nullopt;
    return meeting(**std::prev(next), **next);
  }

  // `lower` has the smaller keys at the current row. The first row, from this one on, at which they
  // share a key.
  std::optional<Overlap> meeting(const Strip& lower, const Strip& upper) const {
    const int64_t end = std::min(lower.q.end, upper.q.end);
    if (end <= row_) return std::nullopt;
    const auto shared = [&](int64_t row) { return lower.right_at(row) - upper.left_at(row); };
    if (shared(row_) > 0) return make_overlap(lower, upper, row_);
    if (shared(end - 1) <= 0) return std::nullopt;
    return make_overlap(lower, upper, row_ + 1 - shared(row_));  // it grows by one a row
  }

  static Overlap make_overlap(const Strip& a, const Strip& b, int64_t row) {
    return {std::min(a.piece, b.piece), std::max(a.piece, b.piece), row,
            std::max(a.left_at(row), b.left_at(row))};
  }

  std::vector<Strip> strips_;
  int64_t row_ = 0;
  Active active_;
  std::vector<Active::iterator> places_;
};

}  // namespace

std::optional<Overlap> find_overlap(const std::vector<Piece>& pieces) {
  std::vector<Strip> strips;
  strips.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) append_strips(pieces[i], i, strips);
  if (strips.size() < 2) return std::nullopt;
  return Sweep(std::move(strips)).run();
}

}  // namespace cadenza
