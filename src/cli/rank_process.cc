#include "cli/rank_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

void set_environment(const RankLaunch& launch, int rank) {
  const auto set = [](const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
  };
  set("RANK", cat(rank));
  set("LOCAL_RANK", cat(rank));
  set("WORLD_SIZE", cat(launch.ranks));
  set("LOCAL_WORLD_SIZE", cat(launch.ranks));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", cat(launch.port));
  set("CADENZA_LAUNCHER", "1");
  set("CADENZA_ERROR_FD", cat(launch.error_fd));
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ::setenv("OMP_NUM_THREADS", cat(std::max(1, cores / launch.ranks)).c_str(), /*overwrite=*/0);
}

[[noreturn]] void become_rank(const RankLaunch& launch, int rank, pid_t launcher) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // it died before prctl
  set_environment(launch, rank);
  std::vector<char*> arguments;
  for (const std::string& word : launch.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

}  // namespace

bool RankProcess::killed() const { return !running && WIFSIGNALED(status); }

int RankProcess::exit_code() const {
  return killed() ? static_cast<int>(ExitCode::kPeerLost) : WEXITSTATUS(status);
}

std::string RankProcess::ending() const {
  if (!killed()) return cat("ended with exit code ", WEXITSTATUS(status));
  return cat("was killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
}

RankProcess start_rank(const RankLaunch& launch, int rank) {
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_rank(launch, rank, launcher);
  if (pid < 0)
    throw InternalError(cat("[launch] cannot start rank ", rank, ": ", std::strerror(errno)));
  return {.pid = pid, .running = true};
}

int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool found = ::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  ::close(listener);
  if (!found)
    throw InternalError(cat("[launch] no free port on 127.0.0.1: ", std::strerror(errno)));
  return ntohs(address.sin_port);
}

}  // namespace cadenza
