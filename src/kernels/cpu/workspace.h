#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace cadenza::cpu {

/// A worker's scratch memory, made once a call and reused by all its tiles. Zeroed, so that padding
/// that no product uses holds numbers.
class Scratch {
 public:
  explicit Scratch(int64_t floats)
      : data_(static_cast<float*>(::operator new(bytes(floats), kAlignment))) {
    for (int64_t i = 0; i < floats; ++i) data_.get()[i] = 0;
  }
  float* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector
  static size_t bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }
  struct Delete {
    void operator()(float* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<float, Delete> data_;
};

}  // namespace cadenza::cpu
