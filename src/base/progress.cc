#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/log.h"

namespace cadenza {
namespace {

constexpr int64_t kBarCharacters = 20;
// Of a terminal that does not tell.
constexpr size_t kUsualColumns = 80;

// The line that stands on the terminal; empty when none does. Guarded by g_mutex.
std::mutex g_mutex;
std::string g_shown;

void write_terminal(const std::string& text) {
  // A terminal that went away takes no more progress; the work goes on.
  size_t done = 0;
  for (ssize_t got = 1; got > 0 && done < text.size();
       done += static_cast<size_t>(std::max<ssize_t>(got, 0))) {
    got = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
  }
}

// To the first column, then erase to the end of the line (ECMA-48, EL).
constexpr const char* kErase = "\r\x1b[K";

size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

std::string bar(int64_t done, int64_t total) {
  if (total <= 0) return "";
  const double part =
      static_cast<double>(std::clamp<int64_t>(done, 0, total)) / static_cast<double>(total);
  const auto full = static_cast<size_t>(part * kBarCharacters);
  return cat(" [", std::string(full, '#'), std::string(kBarCharacters - full, '-'), "]");
}

std::string count(const std::string& label, int64_t done, int64_t total) {
  return total > 0 ? cat(label, " ", done, "/", total) : cat(label, " ", done);
}

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(value));
}

}  // namespace

Progress::Progress(bool speaks, int64_t total, std::string label, const ProgressOptions& options)
    : speaks_(speaks),
      terminal_(::isatty(STDERR_FILENO) == 1),
      total_(total),
      label_(std::move(label)),
      options_(options) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, const std::string& text) {
  if (!speaks_ || log_is_quiet()) return;
  done_ = done;
  text_ = text;
  pending_ = true;
  if (Clock::now() >= next_time_) show();
}

void Progress::show() {
  pending_ = false;
  next_time_ = Clock::now() + seconds(terminal_ ? options_.redraw_seconds : options_.line_seconds);
  if (!terminal_) {
    log_info(cat(count(label_, done_, total_), " ", text_));
    return;
  }
  std::string line = cat(count(label_, done_, total_), bar(done_, total_), " ", text_);
  // A line that reaches the last column wraps, and what wraps cannot be erased in place.
  line.resize(std::min(line.size(), terminal_columns() - 1));
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_shown = line;
  write_terminal(kErase + line);
}

void Progress::finish() {
  if (pending_) show();
  speaks_ = false;
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (!std::exchange(g_shown, "").empty()) write_terminal("\n");
}

ProgressHidden::ProgressHidden() : lock_(g_mutex) {
  if (!g_shown.empty()) write_terminal(kErase);
}

ProgressHidden::~ProgressHidden() {
  if (!g_shown.empty()) write_terminal(g_shown);
}

}  // namespace cadenza
