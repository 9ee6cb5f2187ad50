#include "cli/launch_ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/cat.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "cli/rank_process.h"

namespace cadenza {
namespace {

// Survivors notice a dead peer within milliseconds, and what they compute after it is of no use;
// longer than this nobody waits.
constexpr double kGraceSeconds = 5;
// From SIGTERM to SIGKILL: enough to leave a wait.
constexpr double kLastGraceSeconds = 1;
// Short against a person's patience, long against the cost of a waitpid.
constexpr auto kPoll = std::chrono::milliseconds(20);

/// One error that a rank reported: "RANK CODE PEER MESSAGE", a line, written at once (lines under
/// PIPE_BUF are atomic).
struct ReportedError {
  int rank = 0;
  int code = 0;
  int peer = -1;  // that it waited for in vain
  std::string message;
};

class Launch {
 public:
  Launch(int ranks, const std::vector<std::string>& command, double grace_seconds)
      : grace_seconds_(grace_seconds) {
    if (::pipe(errors_) != 0) throw InternalError("[launch] cannot open a pipe");
    ::fcntl(errors_[0], F_SETFL, O_NONBLOCK);
    ::fcntl(errors_[0], F_SETFD, FD_CLOEXEC);
    const RankLaunch launch{
        .ranks = ranks, .port = free_port(), .error_fd = errors_[1], .command = command};
    for (int rank = 0; rank < ranks; ++rank) processes_.push_back(start_rank(launch, rank));
    ::close(errors_[1]);
  }
  ~Launch() {
    signal_running(SIGKILL);
    ::close(errors_[0]);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int wait() {
    while (collect()) {
      pass_on_interrupt();
      end_the_rest();
      std::this_thread::sleep_for(kPoll);
    }
    return conclude();
  }

 private:
  /// Takes what has ended and what was reported; false once no rank runs.
  bool collect() {
    bool running = false;
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
      RankProcess& process = processes_[rank];
      if (process.running && ::waitpid(process.pid, &process.status, WNOHANG) == process.pid) {
        process.running = false;
        if (process.failed() && first_failed_ < 0) first_failed_ = static_cast<int>(rank);
        if (process.killed() && killed_ < 0 && !asked_to_end_) killed_ = static_cast<int>(rank);
      }
      running |= process.running;
    }
    char chunk[4096];
    for (ssize_t got; (got = ::read(errors_[0], chunk, sizeof(chunk))) > 0;) {
      reported_.append(chunk, static_cast<size_t>(got));
    }
    return running;
  }

  void pass_on_interrupt() {
    if (!interrupt_requested() || passed_on_) return;
    passed_on_ = true;
    signal_running(SIGINT);
    if (!end_by_) end_by_ = Deadline::after_seconds(grace_seconds_);
  }

  /// Once a rank has failed: SIGTERM after the grace, SIGKILL a little later.
  void end_the_rest() {
    if (first_failed_ >= 0 && !end_by_) end_by_ = Deadline::after_seconds(grace_seconds_);
    if (!end_by_ || !end_by_->passed()) return;
    signal_running(asked_to_end_ ? SIGKILL : SIGTERM);
    asked_to_end_ = true;
    end_by_ = Deadline::after_seconds(kLastGraceSeconds);
  }

  void signal_running(int signal) {
    for (const RankProcess& process : processes_) {
      if (process.running) ::kill(process.pid, signal);
    }
  }

  std::vector<ReportedError> reported_errors() const {
    std::vector<ReportedError> errors;
    std::istringstream lines(reported_);
    for (std::string line; std::getline(lines, line);) {
      ReportedError error;
      std::istringstream words(line);
      words >> error.rank >> error.code >> error.peer;
      std::getline(words >> std::ws, error.message);
      errors.push_back(error);
    }
    return errors;
  }

  /// One line for all ranks. A rank that was killed, or failed by itself, is the cause; that others
  /// lost it is the consequence.
  int conclude() const {
    if (passed_on_)
      return say(static_cast<int>(ExitCode::kInterrupted), "interrupted; all ranks have ended");
    if (first_failed_ < 0) return static_cast<int>(ExitCode::kOk);
    if (killed_ >= 0) return say_ended(killed_);
    const std::vector<ReportedError> errors = reported_errors();
    if (const ReportedError* cause = cause_of(errors)) {
      // Most messages of a run say themselves which rank they are about.
      const bool names_rank = cause->message.find("rank ") != std::string::npos;
      return say(cause->code,
                 names_rank ? cause->message : cat("rank ", cause->rank, ": ", cause->message));
    }
    return say_ended(first_failed_);
  }

  /// An error that is no lost peer; else one that waited for a rank which itself reported nothing:
  /// a rank that waits for a stopped one is late for others.
  static const ReportedError* cause_of(const std::vector<ReportedError>& errors) {
    const ReportedError* cause = nullptr;
    for (const ReportedError& error : errors) {
      if (error.code != static_cast<int>(ExitCode::kPeerLost)) return &error;
      const bool peer_reported = std::ranges::any_of(
          errors, [&](const ReportedError& other) { return other.rank == error.peer; });
      if (cause == nullptr || !peer_reported) cause = &error;
    }
    return cause;
  }

  int say_ended(int rank) const {
    const RankProcess& process = processes_[static_cast<size_t>(rank)];
    return say(process.exit_code(), cat("rank ", rank, " (pid ", process.pid, ") ",
                                        process.ending(), "; the other ranks have ended"));
  }
  static int say(int code, const std::string& text) {
    std::cerr << "cadenza: error: " << text << std::endl;
    return code;
  }

  const double grace_seconds_;
  int errors_[2] = {-1, -1};
  std::vector<RankProcess> processes_;
  std::string reported_;
  int first_failed_ = -1;  // in the order in which ends were seen
  int killed_ = -1;        // first that died of a signal which was not ours
  std::optional<Deadline> end_by_;
  bool passed_on_ = false, asked_to_end_ = false;
};

}  // namespace

int launch_ranks(int ranks, const std::vector<std::string>& command, double deadline_seconds) {
  install_interrupt_handler();
  return Launch(ranks, command, std::min(deadline_seconds, kGraceSeconds)).wait();
}

bool report_error_to_launcher(int exit_code, int peer, const std::string& message) {
  const char* descriptor = std::getenv("CADENZA_ERROR_FD");
  const char* rank = std::getenv("RANK");
  if (descriptor == nullptr || rank == nullptr) return false;
  std::string line = cat(rank, " ", exit_code, " ", peer, " ", message.substr(0, 3500), "\n");
  return ::write(std::atoi(descriptor), line.data(), line.size()) ==
         static_cast<ssize_t>(line.size());
}

}  // namespace cadenza
