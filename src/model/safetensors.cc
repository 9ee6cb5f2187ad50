#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/cat.h"
#include "base/error.h"
#include "model/safetensors_header.h"

namespace cadenza {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and read as it lies");

constexpr size_t kLengthBytes = 8;
// The limit of the format's reference reader: no real header comes near, and a damaged length does
// not allocate.
constexpr uint64_t kLargestHeader = 100'000'000;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw DataError(cat("[safetensors] ", path, ": ", why));
}

struct Mapping {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

Mapping map_descriptor(int descriptor, const std::string& path) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) refuse(path, cat("cannot be read: ", std::strerror(errno)));
  if (!S_ISREG(facts.st_mode)) refuse(path, "expected a file, got a folder or device");
  const auto bytes = static_cast<size_t>(facts.st_size);
  if (bytes < kLengthBytes) {
    refuse(path, cat("expected at least 8 bytes (the header's length), got ", bytes,
                     "; the file is damaged, copy or export it again"));
  }
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) refuse(path, cat("cannot be mapped: ", std::strerror(errno)));
  return {static_cast<std::byte*>(data), bytes};
}

Mapping map_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, cat("cannot be read: ", std::strerror(errno)));
  try {
    const Mapping mapping = map_descriptor(descriptor, path);
    close(descriptor);
    return mapping;
  } catch (...) {
    close(descriptor);
    throw;
  }
}

std::string_view header_of(const std::byte* mapping, size_t bytes, const std::string& path) {
  uint64_t length = 0;
  std::memcpy(&length, mapping, kLengthBytes);
  if (length > kLargestHeader || length > bytes - kLengthBytes) {
    refuse(path,
           cat("expected a header of at most ",
               std::min<uint64_t>(kLargestHeader, bytes - kLengthBytes), " bytes, got length ",
               length, "; the file is damaged, copy or export it again"));
  }
  return {reinterpret_cast<const char*>(mapping) + kLengthBytes, static_cast<size_t>(length)};
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const Mapping mapping = map_file(path);
  mapping_ = mapping.data;
  mapped_bytes_ = mapping.bytes;
  try {
    const std::string_view header = header_of(mapping_, mapped_bytes_, path_);
    const size_t data_begin = kLengthBytes + header.size();
    const auto data_bytes = static_cast<int64_t>(mapped_bytes_ - data_begin);
    for (TensorEntry& entry : parse_safetensors_header(header, data_bytes, path_)) {
      tensors_[entry.name] = {.dtype = entry.dtype,
                              .shape = std::move(entry.shape),
                              .data = mapping_ + data_begin + entry.begin,
                              .bytes = entry.end - entry.begin};
    }
  } catch (...) {
    munmap(mapping_, mapped_bytes_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { munmap(mapping_, mapped_bytes_); }

void copy_as_float(const StoredTensor& tensor, const std::string& name, float* out) {
  if (tensor.dtype == "F32") {
    if (tensor.bytes > 0) std::memcpy(out, tensor.data, static_cast<size_t>(tensor.bytes));
  } else if (tensor.dtype == "BF16") {
    // bf16 is the upper half of an fp32: every value converts exactly.
    for (int64_t i = 0; i < tensor.bytes / 2; ++i) {
      uint16_t half = 0;
      std::memcpy(&half, tensor.data + 2 * i, sizeof half);
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
    }
  } else {
    throw DataError(cat("[safetensors] tensor \"", name, "\": expected dtype F32 or BF16, got ",
                        tensor.dtype, "; convert the checkpoint to bfloat16 or float32"));
  }
}

std::vector<float> read_as_float(const StoredTensor& tensor, const std::string& name) {
  const int64_t element_bytes = tensor.dtype == "F32" ? 4 : 2;
  std::vector<float> values(static_cast<size_t>(tensor.bytes / element_bytes));
  copy_as_float(tensor, name, values.data());
  return values;
}

}  // namespace cadenza
