#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cadenza {

/// One tensor as the header describes it; `begin` and `end` are bytes from the start of the data
/// section.
struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Reads the JSON header of a safetensors file whose data section has `data_bytes` bytes, and
/// proves it sound: every range fits dtype × shape, and the ranges tile the data section. DataError
/// naming `where` and the tensor otherwise.
std::vector<TensorEntry> parse_safetensors_header(std::string_view header, int64_t data_bytes,
                                                  const std::string& where);

/// Bytes of one element of a dtype of the format ("F32", "BF16", ...); 0 for one that is not known.
int64_t stored_dtype_bytes(const std::string& dtype);

}  // namespace cadenza
