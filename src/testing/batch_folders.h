#pragma once

#include <filesystem>
#include <vector>

namespace cadenza {

/// Folders of batch files to plan: tests/data/batches, and recorded ones that may lie beside the
/// repository.
inline std::vector<std::filesystem::path> batch_folders() {
  const std::filesystem::path source = CADENZA_SOURCE_DIR;
  std::vector<std::filesystem::path> folders{source / "tests/data/batches"};
  const std::filesystem::path recorded = source / "../shared/data/planner_bench";
  if (std::filesystem::exists(recorded)) folders.push_back(recorded);
  return folders;
}

}  // namespace cadenza
