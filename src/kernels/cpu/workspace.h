#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace cadenza::cpu {

/// A worker's scratch memory, made once a call and reused by all its tiles. Zeroed, so that padding
/// that no product uses holds numbers.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : data_(::operator new(static_cast<size_t>(bytes), kAlignment)) {
    std::memset(data_.get(), 0, static_cast<size_t>(bytes));
  }
  void* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector
  struct Delete {
    void operator()(void* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<void, Delete> data_;
};

}  // namespace cadenza::cpu
