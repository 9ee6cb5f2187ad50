#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/work.h"

namespace cadenza::bench {

/// One line of the result: a work, on our side and, where it can, on PyTorch's.
struct Variant {
  std::string name;  // says true sizes
  Work work;
  std::optional<TorchWork> torch = {};
  int threads = 1;
  int64_t tokens = 0;     // for the time a token
  std::string note = {};  // what the name does not say
};

/// Variants that are measured in turn, in the same rounds. Of several the first is what the others
/// are compared with.
struct Case {
  std::vector<Variant> variants;
};

/// Sizes of the whole set. `kSmoke` shows only that everything runs.
enum class CaseSize { kFull, kQuick, kSmoke };

/// All cases on `threads` threads. `lengths` is the file that packed documents are drawn from;
/// empty: the one beside the source tree, or the built-in distribution where that is missing.
std::vector<Case> all_cases(CaseSize size, int threads, const std::string& lengths);

/// 16384 is "16k", 100 is "100".
std::string size_text(int64_t tokens);

}  // namespace cadenza::bench
