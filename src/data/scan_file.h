#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cadenza {

/// What one pass over a file tells.
struct FileScan {
  int64_t bytes = 0;
  bool readable = true;  // false: it cannot be opened or read, nothing else holds
  bool binary = false;   // holds a NUL byte; the pass ended there, nothing below holds
  std::vector<int64_t>
      separators;  // offsets at which the separator begins, from left to right without overlap
};

/// Reads a file once, whole, through a small buffer. `separator` empty: none is looked for.
FileScan scan_file(const std::string& path, const std::string& separator);

/// Bytes [begin, end) of a file; `expected_bytes` is the size that the whole file had when it was
/// listed. DataError when it cannot be read or its size has changed.
std::string read_file_range(const std::string& path, int64_t begin, int64_t end,
                            int64_t expected_bytes);

}  // namespace cadenza
