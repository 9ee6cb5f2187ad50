#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace cadenza {

/// What made a result: enough to say whether two results may be compared.
struct Provenance {
  std::string command_line;
  std::string version;     // of Cadenza
  std::string build_type;  // "optimised" or "debug"
  std::string compiler;
  std::string processor;        // model name
  std::string instruction_set;  // the best that the processor has for attention
  int threads = 1;              // processors this process may run on
  std::string host;
  std::string date;                                            // UTC, ISO 8601
  std::vector<std::pair<std::string, std::string>> libraries;  // (name, version)
};

/// Of this process and machine. Versions of Cadenza and of libraries are the caller's to give.
Provenance current_provenance(const std::string& version,
                              std::vector<std::pair<std::string, std::string>> libraries);

Json provenance_to_json(const Provenance& provenance);

/// "amx", "avx512_bf16", "avx512", "avx2" or "portable", from the flags line of /proc/cpuinfo.
std::string instruction_set_of(const std::string& cpu_flags);

}  // namespace cadenza
