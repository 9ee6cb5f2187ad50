#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cadenza {

/// One rank as a child process.
struct RankProcess {
  pid_t pid = -1;
  bool running = false;
  int status = 0;  // of waitpid, once it has ended

  bool failed() const { return !running && status != 0; }
  bool killed() const;         // by a signal
  int exit_code() const;       // kPeerLost when killed
  std::string ending() const;  // "was killed by signal 9 (Killed)", "ended with exit code 2"
};

/// What every rank of a launch has in common.
struct RankLaunch {
  int ranks = 1;
  int port = 0;       // where they meet, on 127.0.0.1
  int error_fd = -1;  // where they report errors; inherited
  std::vector<std::string> command;
};

/// Starts one. It lies in a process group of its own, so that a Ctrl-C of the terminal reaches the
/// launcher alone and is passed on once; it is killed when the launcher dies. InternalError when no
/// process can be had.
RankProcess start_rank(const RankLaunch& launch, int rank);

/// A TCP port on 127.0.0.1 that was free a moment ago.
int free_port();

}  // namespace cadenza
