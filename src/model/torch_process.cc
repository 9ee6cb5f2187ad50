// Settings of libtorch itself: threads and the allocator.
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/memory.h"
#include "model/llama.h"

namespace cadenza {
namespace {

// Room before each block for its size; 64 bytes keep the alignment that libtorch's kernels expect.
constexpr size_t kPrefixBytes = 64;

at::Allocator* g_default = nullptr;

void free_counted(void* data) {
  if (data == nullptr) return;
  std::byte* const block = static_cast<std::byte*>(data) - kPrefixBytes;
  int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof bytes);
  MemoryCounter::remove(bytes);
  g_default->raw_deallocate(block);
}

// The default allocator, counted.
class CountingAllocator final : public at::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    const at::Device cpu(at::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &free_counted, cpu};
    auto* const block = static_cast<std::byte*>(g_default->raw_allocate(bytes + kPrefixBytes));
    const auto counted = static_cast<int64_t>(bytes);
    std::memcpy(block, &counted, sizeof counted);
    MemoryCounter::add(counted);
    return {block + kPrefixBytes, block + kPrefixBytes, &free_counted, cpu};
  }
  at::DeleterFnPtr raw_deleter() const override { return &free_counted; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void set_model_threads(int threads) { at::set_num_threads(threads); }

void count_model_memory() {
  static CountingAllocator counting;
  if (g_default != nullptr) return;
  g_default = c10::GetCPUAllocator();
  CADENZA_CHECK(g_default->raw_deleter() != nullptr, "libtorch's allocator cannot be wrapped");
  // Above every priority that a part of libtorch may have registered with.
  c10::SetCPUAllocator(&counting, /*priority=*/255);
}

}  // namespace cadenza
