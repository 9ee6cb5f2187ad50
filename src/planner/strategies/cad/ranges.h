#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/range.h"

namespace cadenza {

/// Ranges in order of their begin. Few, so insertion beats a sort.
class OrderedRanges {
 public:
  explicit OrderedRanges(size_t capacity) {
    if (capacity <= kInline) {
      data_ = inline_;
    } else {
      more_.resize(capacity);
      data_ = more_.data();
    }
  }

  void add(Range range) {
    data_[size_++] = range;
    if (data_ != inline_) return;  // many: sorted once, by `sort`
    for (size_t i = size_ - 1; i > 0 && data_[i].begin < data_[i - 1].begin; --i) {
      std::swap(data_[i], data_[i - 1]);
    }
  }

  /// Calls with each range of the union, in order.
  template <typename Visit>
  void visit_union(const Visit& visit) {
    if (data_ != inline_) {
      std::sort(data_, data_ + size_, [](Range a, Range b) { return a.begin < b.begin; });
    }
    for (size_t i = 0; i < size_;) {
      Range range = data_[i];
      for (++i; i < size_ && data_[i].begin <= range.end; ++i) {
        range.end = std::max(range.end, data_[i].end);
      }
      visit(range);
    }
  }

 private:
  static constexpr size_t kInline = 16;

  union {
    Range inline_[kInline];  // in a union, so that it is not zeroed: few are used
  };
  std::vector<Range> more_;
  Range* data_;
  size_t size_ = 0;
};

}  // namespace cadenza
