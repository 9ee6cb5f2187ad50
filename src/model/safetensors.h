#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cadenza {

/// One tensor of a safetensors file. `data` points into the file's mapping: read it bytewise, it
/// may be unaligned.
struct StoredTensor {
  std::string dtype;  // "F32", "BF16", ... as in the file
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  int64_t bytes = 0;
};

/// A safetensors file mapped for reading. The header is proved sound before anything is read: its
/// length fits the file, it is UTF-8 JSON without a repeated key, each tensor's range fits dtype ×
/// shape without overflow, and the ranges tile the data without overlap or hole. DataError naming
/// file and tensor otherwise.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }

 private:
  std::string path_;
  std::byte* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::map<std::string, StoredTensor> tensors_;
};

/// fp32 values of a stored F32 or BF16 tensor; DataError naming it for another dtype.
std::vector<float> read_as_float(const StoredTensor& tensor, const std::string& name);

/// The same into `out`, which must have room for every element.
void copy_as_float(const StoredTensor& tensor, const std::string& name, float* out);

/// One fp32 tensor to write.
struct FloatTensor {
  std::string name;
  std::vector<int64_t> shape;
  const float* data = nullptr;
};

/// Writes an F32 file that other readers accept: header padded to 8 bytes, __metadata__.format =
/// "pt", offsets contiguous.
void write_safetensors(const std::string& path, const std::vector<FloatTensor>& tensors);

}  // namespace cadenza
