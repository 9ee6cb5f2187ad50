#include "base/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"

namespace cadenza {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// While it lives standard error goes to the write end of a pipe or terminal; what came out is read
// at the end.
class StderrTo {
 public:
  StderrTo(int read_end, int write_end) : read_end_(read_end), saved_(::dup(STDERR_FILENO)) {
    ::dup2(write_end, STDERR_FILENO);
    ::close(write_end);
  }
  ~StderrTo() { restore(); }

  std::string finish() {
    restore();  // the last write end closes, so reading ends
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(read_end_, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    ::close(read_end_);
    return text;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  int read_end_, saved_;
};

StderrTo stderr_to_pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  return {ends[0], ends[1]};
}

StderrTo stderr_to_terminal() {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(master, 0);
  EXPECT_EQ(::grantpt(master) + ::unlockpt(master), 0);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  EXPECT_EQ(::isatty(terminal), 1);
  return {master, terminal};
}

// No time passes, or no time is asked for: the tests do not depend on the clock.
constexpr ProgressOptions kNeverAgain{.redraw_seconds = 1e6, .line_seconds = 1e6};
constexpr ProgressOptions kEachTime{.redraw_seconds = 0, .line_seconds = 0};

TEST(Progress, OnAPipeShowsTheFirstAndTheLastStateAsPlainLines) {
  StderrTo pipe = stderr_to_pipe();
  {
    Progress progress(true, 3, "step", kNeverAgain);
    progress.update(1, "loss 3");
    progress.update(2, "loss 2");
    progress.update(3, "loss 1");
    progress.finish();
    progress.update(4, "late");
  }
  EXPECT_EQ(pipe.finish(), "cadenza: step 1/3 loss 3\ncadenza: step 3/3 loss 1\n");
}

TEST(Progress, OnAPipeShowsEachStateOnceWhenEnoughTimePasses) {
  StderrTo pipe = stderr_to_pipe();
  {
    Progress progress(true, 0, "file", kEachTime);
    progress.update(1, "a");
    progress.update(2, "b");
  }
  EXPECT_EQ(pipe.finish(), "cadenza: file 1 a\ncadenza: file 2 b\n");
}

TEST(Progress, ShowsNothingWhenQuietOrOnASilentRank) {
  StderrTo pipe = stderr_to_pipe();
  set_log_quiet(true);
  Progress(true, 1, "step", kEachTime).update(1, "quiet");
  set_log_quiet(false);
  Progress(false, 1, "step", kEachTime).update(1, "silent");
  EXPECT_EQ(pipe.finish(), "");
}

TEST(Progress, OnATerminalRedrawsOneLineAndLeavesTheLast) {
  StderrTo terminal = stderr_to_terminal();
  {
    Progress progress(true, 2, "step", kEachTime);
    progress.update(1, "loss 2");
    progress.update(2, "loss 1");
  }
  EXPECT_EQ(terminal.finish(),
            "\r\x1b[Kstep 1/2 [##########----------] loss 2"
            "\r\x1b[Kstep 2/2 [####################] loss 1\r\n");
}

TEST(Progress, OnATerminalNeverReachesTheLastColumn) {
  StderrTo terminal = stderr_to_terminal();
  { Progress(true, 2, "step", kEachTime).update(1, std::string(500, 'x')); }
  const std::string text = terminal.finish();
  EXPECT_EQ(text.size(), 4 + 79u + 2) << "erase, line, line end";
}

TEST(Progress, ALogLineTakesTheBarAwayAndPutsItBack) {
  StderrTo terminal = stderr_to_terminal();
  {
    Progress progress(true, 2, "step", kNeverAgain);
    progress.update(1, "loss 2");
    log_warning("look");
  }
  const std::string bar = "step 1/2 [##########----------] loss 2";
  EXPECT_THAT(terminal.finish(),
              AllOf(HasSubstr("\r\x1b[K" + bar + "\r\x1b[Kcadenza: warning: look"),
                    HasSubstr("\r\n" + bar + "\r\n")));
}

TEST(Progress, LogLinesStandAloneOnceItHasFinished) {
  StderrTo terminal = stderr_to_terminal();
  { Progress(true, 2, "step", kEachTime).update(1, "loss 2"); }
  log_info("after");
  EXPECT_THAT(terminal.finish(),
              AllOf(HasSubstr("\r\ncadenza: after\r\n"), Not(HasSubstr("\x1b[Kcadenza"))));
}

}  // namespace
}  // namespace cadenza
