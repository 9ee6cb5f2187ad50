#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cadenza {

/// A file that data.paths leads to.
struct FoundFile {
  std::string path;
  bool named = false;  // by its own name, not found by walking a folder or by a glob
};

struct ExpandedPaths {
  std::vector<FoundFile> files;
  int64_t unreadable = 0;  // sub-folders that cannot be listed; what is not a regular file
};

/// Files, folders (walked) and globs to files: in the order of `patterns`, below each by name,
/// whatever order the file system lists them in. A file that two patterns lead to counts once,
/// where it came first. DataError: a path that does not exist or is neither file nor folder, a
/// folder or glob without files.
ExpandedPaths expand_paths(const std::vector<std::string>& patterns);

/// True where `name`, one component of a path, matches `pattern`: * is any run of characters, ? any
/// one byte.
bool matches_name(const std::string& pattern, const std::string& name);

}  // namespace cadenza
