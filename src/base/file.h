#pragma once

#include <string>

namespace cadenza {

/// Whole content; a missing or unreadable file is a DataError that names it and says why.
std::string read_file(const std::string& path);

/// Writes beside `path` and renames, so that a reader never sees half a file. DataError on failure.
void write_file(const std::string& path, const std::string& content);

}  // namespace cadenza
