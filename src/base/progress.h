#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace cadenza {

/// How often progress is shown; the first and the last state always are.
struct ProgressOptions {
  double redraw_seconds = 0.1;  // a bar on a terminal
  double line_seconds = 5;      // a line in a log
};

/// Shows on standard error how far long work has come: where that is a terminal as one line redrawn
/// in place,
///   step 12/100 [##------------------] loss 2.31 18.2 ktok/s
/// otherwise as log lines without the bar. Nothing when `speaks` is false or after
/// set_log_quiet(true). One thread uses it, and one instance is alive at a time in a process.
class Progress {
 public:
  /// `total` 0: not known.
  Progress(bool speaks, int64_t total, std::string label, const ProgressOptions& options = {});
  /// Leaves the last state on the terminal, so that what follows (an error too) begins on a line of
  /// its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `text` is one line of plain ASCII.
  void update(int64_t done, const std::string& text);
  /// Shows the last state if it was not shown yet. Further updates show nothing.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void show();

  bool speaks_;
  bool terminal_;
  int64_t total_;
  std::string label_;
  ProgressOptions options_;
  int64_t done_ = 0;
  std::string text_;
  bool pending_ = false;  // the last state is not shown yet
  Clock::time_point next_time_ = Clock::time_point::min();
};

/// Takes the bar off the terminal while it lives and keeps others from drawing: each log line is
/// written under one.
class ProgressHidden {
 public:
  ProgressHidden();
  ~ProgressHidden();
  ProgressHidden(const ProgressHidden&) = delete;
  ProgressHidden& operator=(const ProgressHidden&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace cadenza
