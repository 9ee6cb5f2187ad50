#pragma once

#include <fstream>
#include <string>

#include "base/json.h"
#include "comm/group.h"
#include "train/trainer.h"

namespace cadenza {

/// The folder that a run leaves behind: run.json (what made it), ranks.json (rank, pid, host,
/// role), metrics.jsonl (a line a step). An earlier run's folder is renamed, never overwritten.
/// Rank 0 writes; every rank constructs it.
class RunFolder {
 public:
  /// `made_by`: command, resolved configuration, versions. ConfigError when the folder cannot be
  /// made.
  RunFolder(Group& group, const std::string& path, const Json& made_by, double deadline_seconds);

  void write_metrics(const Json& line);
  /// Adds a file; replaces one of that name.
  void write_json(const std::string& name, const Json& content);
  const std::string& path() const { return path_; }

 private:
  bool writes_ = false;
  std::string path_;
  std::ofstream metrics_;
};

/// The metrics line of a step.
Json metrics_line(const StepReport& report);

}  // namespace cadenza
