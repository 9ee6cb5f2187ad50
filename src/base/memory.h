#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cadenza {

/// Counts the bytes of tensors and exchange buffers alive in this process: every buffer of the
/// runtime and every CPU allocation of libtorch goes through here. Thread-safe.
class MemoryCounter {
 public:
  static void add(int64_t bytes);
  static void remove(int64_t bytes);
  static int64_t current_bytes();
  /// Largest current_bytes since the last reset_peak.
  static int64_t peak_bytes();
  static void reset_peak();
};

/// A counted, 64-byte aligned block of host memory; content undefined. Zero bytes hold a null
/// pointer.
class HostBlock {
 public:
  HostBlock() = default;
  explicit HostBlock(int64_t bytes);
  HostBlock(HostBlock&& other) noexcept;
  HostBlock& operator=(HostBlock&& other) noexcept;
  ~HostBlock();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace cadenza
