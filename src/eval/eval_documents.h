#pragma once

#include <cstdint>
#include <string>

#include "data/memory_tokens.h"

namespace cadenza {

/// Reads {"documents": [[ids], ...]} where the file ends in .json, else text (a file, folder or
/// glob) by the byte-level vocabulary. DataError naming document and place for an empty document or
/// an id outside the vocabulary. None is cut.
MemoryTokens read_eval_documents(const std::string& path, int64_t vocab_size);

}  // namespace cadenza
