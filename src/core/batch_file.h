#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/batch.h"

namespace cadenza {

/// A planner input: {"servers", "tokens_per_server", "documents": [lengths]} (more keys are
/// allowed), or a plain JSON array of lengths, where servers and tokens_per_server must come from
/// the command line.
struct BatchFile {
  std::string name;
  std::optional<int> servers;
  std::optional<int64_t> tokens_per_server;
  std::vector<Document> documents;  // masks from the file's "mask", causal by default; no homes
};

/// DataError with file and field when the file is malformed.
BatchFile read_batch_file(const std::string& path);

}  // namespace cadenza
