#include "base/memory.h"

#include <atomic>
#include <new>
#include <utility>

namespace cadenza {
namespace {

std::atomic<int64_t> g_current{0};
std::atomic<int64_t> g_peak{0};

// A cache line, and the widest vector register.
constexpr std::align_val_t kAlignment{64};

}  // namespace

void MemoryCounter::add(int64_t bytes) {
  const int64_t now = g_current.fetch_add(bytes) + bytes;
  int64_t peak = g_peak.load();
  while (peak < now && !g_peak.compare_exchange_weak(peak, now)) {
  }
}

void MemoryCounter::remove(int64_t bytes) { g_current.fetch_sub(bytes); }
int64_t MemoryCounter::current_bytes() { return g_current.load(); }
int64_t MemoryCounter::peak_bytes() { return g_peak.load(); }
void MemoryCounter::reset_peak() { g_peak.store(g_current.load()); }

HostBlock::HostBlock(int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment));
  MemoryCounter::add(bytes_);
}

HostBlock::HostBlock(HostBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HostBlock& HostBlock::operator=(HostBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostBlock::~HostBlock() {
  if (data_ == nullptr) return;
  ::operator delete(data_, kAlignment);
  MemoryCounter::remove(bytes_);
}

}  // namespace cadenza
